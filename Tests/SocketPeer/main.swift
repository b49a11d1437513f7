import Calls
import Glibc
import HTTP
import JSON
import NIOHTTP1
package import SocketIO
import Synchronization
import Time

// The server that the conformance suites of Engine.IO and Socket.IO ask for: engine.io-protocol and socket.io-protocol,
// "test-suite". Usage: socket-peer [PORT]; the suites look at port 3000.

extension EngineServer: SocketTransport {
    package var engine: EngineServer {
        get { self }
        set { self = newValue }
    }
}

extension EngineServer.Output: SocketOutput {
    package var action: EngineServer.Action? { if case .transport(let action) = self { action } else { nil } }
}

let port = CommandLine.arguments.dropFirst().first.flatMap { UInt16($0) } ?? 3000

var settings = EngineSession.Settings()
settings.pingInterval = .milliseconds(300)
settings.pingTimeout = .milliseconds(200)

let count = Mutex(0)
let makeName: @Sendable () -> String = {
    count.withLock { count in
        count += 1
        return "name\(count)"
    }
}

var limits = HTTPLimits()
limits.bodySize = settings.maxPayload
let http = HTTPServer(limits: limits)

/// Sends each message back.
let engine = SocketService(
    EngineServer(settings: settings, limits: EngineLimits(sessions: 1000), makeSID: makeName),
    at: "/engine.io/",
    of: http
) { server, output, _ in
    if case .received(let message, let sid) = output { server.send(message, to: sid) }
}

/// Tells what a client sent along, and sends back what it says.
let sockets: SocketService<SocketServer> = SocketService(
    SocketServer(
        namespaces: ["/", "/custom"],
        settings: settings,
        limits: EngineLimits(sessions: 1000),
        connectTimeout: .seconds(1),
        makeID: makeName
    ),
    at: "/socket.io/",
    of: http
) { server, output, _ in
    switch output {
    case .connected(let client, _, let payload):
        // The suites' client misses a frame that comes together with another.
        http.schedule(in: .milliseconds(5)) {
            sockets.perform { server, _ in
                server.send(.event("auth", [payload ?? JSONText(object: [])]), to: client)
            }
        }
    case .received(let client, let packet):
        guard let elements = packet.data?.elements, let name = elements.first?.string else { return }
        let arguments = Array(elements.dropFirst())
        if name == "message" {
            var answer = SocketPacket.event("message-back", arguments)
            answer.attachments = packet.attachments
            if !answer.attachments.isEmpty { answer.kind = .binaryEvent }
            server.send(answer, to: client)
        } else if name == "message-with-ack", let id = packet.id {
            var answer = SocketPacket.acknowledgement(of: id, arguments)
            answer.attachments = packet.attachments
            if !answer.attachments.isEmpty { answer.kind = .binaryAcknowledgement }
            server.send(answer, to: client)
        }
    case .transport, .disconnected: break
    }
}

let listener = try http.listen(
    on: ListenAddress(host: "127.0.0.1", port: port),
    takeSocket: { engine.takeSocket($0) ?? sockets.takeSocket($0) },
    respond: { request, completion in
        if engine.isFor(request) {
            engine.respond(to: request, completion: completion)
        } else if sockets.isFor(request) {
            sockets.respond(to: request, completion: completion)
        } else {
            completion(.sentence(.notFound, "there is nothing at \(request.path)"))
        }
    }
)
_ = "listening at \(listener.port)\n".withCString { write(1, $0, strlen($0)) }
while true { pause() }
