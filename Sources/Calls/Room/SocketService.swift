package import HTTP
import NIOHTTP1
import Posix
package import SocketIO
import Synchronization
package import Time

/// Serves Engine.IO, or Socket.IO, to the clients of an HTTP server. Close that server before the service is released.
package final class SocketService<Server: SocketTransport>: Sendable {
    private struct State: Sendable {
        var nextID: UInt64 = 0
        var completions: [UInt64: @Sendable (HTTPResponse) -> Void] = [:]
        var sockets: [UInt64: WebSocket] = [:]

        mutating func newID() -> UInt64 {
            nextID += 1
            return nextID
        }
    }

    /// A server whose events are handled while it is changed. Its outputs are only the actions on requests and WebSockets.
    private struct Reacting: Engine {
        private(set) var server: Server
        private let react: @Sendable (inout Server, Server.Output, Instant) -> Void
        private var actions: [EngineServer.Action] = []

        init(_ server: Server, react: @escaping @Sendable (inout Server, Server.Output, Instant) -> Void) {
            (self.server, self.react) = (server, react)
        }

        var nextDeadline: Instant? { server.engine.nextDeadline }

        mutating func tick(now: Instant) { change(now: now) { $0.engine.tick(now: now) } }

        mutating func takeOutputs() -> [EngineServer.Action] { exchange(&actions, with: []) }

        mutating func change(now: Instant, _ body: (inout Server) -> Void) {
            body(&server)
            while true {
                let outputs = server.takeOutputs()
                if outputs.isEmpty { return }
                for output in outputs {
                    if let action = output.action { actions.append(action) } else { react(&server, output, now) }
                }
            }
        }
    }

    private let path: String
    private let driver: EngineDriver<Reacting>
    private let state = Mutex(State())

    /// - Parameters:
    ///   - path: such as `/socket.io/`.
    ///   - react: gets an event of the server, and may change the server. It is called under a lock, and must not call the service.
    package init(
        _ server: Server,
        at path: String,
        of http: HTTPServer,
        react: @escaping @Sendable (inout Server, Server.Output, Instant) -> Void
    ) {
        self.path = path
        driver = EngineDriver(Reacting(server, react: react)) { http.schedule(in: $0, $1) }
    }

    package func isFor(_ request: HTTPRequest) -> Bool { request.path == path || request.path + "/" == path }

    /// - Parameter completion: called once, perhaps after half a minute.
    package func respond(to request: HTTPRequest, completion: @escaping @Sendable (HTTPResponse) -> Void) {
        if request.method == .OPTIONS { return completion(Self.open(HTTPResponse(.noContent))) }
        let method: EngineServer.Method =
            switch request.method {
            case .GET: .get
            case .POST: .post
            default: .other
            }
        let id = state.withLock { state in
            let id = state.newID()
            state.completions[id] = completion
            return id
        }
        perform { server, now in
            server.engine.receive(method, Self.query(of: request), body: request.body, request: id, now: now)
        }
        request.disconnection.notify { [self] in
            perform { $0.engine.abort(request: id, now: $1) }
            // A client that has closed only its sending half still waits.
            complete(id, Self.refusal(.badRequest))
        }
    }

    /// The owner of the WebSocket that a request asks for; nil if it gets none.
    package func takeSocket(_ request: HTTPRequest) -> WebSocketOwner? {
        let query = Self.query(of: request)
        guard isFor(request), driver.read({ $0.server.engine.refusal(ofSocket: query) }) == nil else { return nil }
        let id = state.withLock { $0.newID() }
        return WebSocketOwner(
            opened: { [self] socket in
                state.withLock { $0.sockets[id] = socket }
                perform { $0.engine.open(socket: id, query, now: $1) }
            },
            received: { [self] message in
                perform { $0.engine.receive(EngineMessage(message), on: id, now: $1) }
            },
            closed: { [self] in
                state.withLock { $0.sockets[id] = nil }
                perform { $0.engine.lost(socket: id, now: $1) }
            }
        )
    }

    package func perform(_ body: @Sendable (inout Server, Instant) -> Void) {
        driver.change(for: self) { engine, now in
            engine.change(now: now) { body(&$0, now) }
        } perform: { service, action, _ in
            service.perform(action)
        }
    }

    // MARK: - Actions

    private func perform(_ action: EngineServer.Action) {
        switch action {
        case .answer(let id, let body):
            // Node's server says text for all content.
            complete(id, HTTPResponse(.ok, ["Content-Type": "text/plain; charset=UTF-8"], body: body))
        case .refuse(let id, let refusal): complete(id, Self.refusal(refusal))
        case .send(let message, let id): state.withLock { $0.sockets[id] }?.send(WebSocketMessage(message))
        case .close(let id): state.withLock { $0.sockets[id] }?.close()
        }
    }

    private func complete(_ id: UInt64, _ response: HTTPResponse) {
        state.withLock { $0.completions.removeValue(forKey: id) }?(Self.open(response))
    }

    private static func refusal(_ refusal: EngineServer.Refusal) -> HTTPResponse {
        let status: HTTPResponseStatus =
            switch refusal {
            case .tooManySessions: .serviceUnavailable
            case .tooManyPackets: .tooManyRequests
            default: .badRequest
            }
        return HTTPResponse(status, ["Content-Type": "application/json"], body: refusal.body)
    }

    /// Pages of every origin may use the service: it knows no cookies.
    private static func open(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.headers.add(name: "Access-Control-Allow-Origin", value: "*")
        response.headers.add(name: "Access-Control-Allow-Methods", value: "GET, POST, OPTIONS")
        response.headers.add(name: "Access-Control-Allow-Headers", value: "Content-Type, Authorization")
        response.headers.add(name: "Cache-Control", value: "no-store")
        return response
    }

    private static func query(of request: HTTPRequest) -> EngineServer.Query {
        EngineServer.Query(
            revision: request.queryValue("EIO"),
            transport: request.queryValue("transport"),
            sid: request.queryValue("sid"),
            network: ClientAddress(request.client).network
        )
    }
}
