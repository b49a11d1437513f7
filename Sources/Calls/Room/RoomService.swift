package import HTTP
import NIOHTTP1
import RTP
import SocketIO
import Synchronization

/// One-to-one rooms for the clients of an HTTP server that speak Socket.IO. Close that server before the service is released.
package final class RoomService: Sendable {
    package struct Configuration: Sendable {
        package var limits = RoomServer.Limits()
        package var otherJoinedName = RoomEvent.OtherJoinedName.otherjoin
        package var mostClients = 4096
        /// The most GETs of one network that are held at once.
        package var mostHeldGets = 4096
        /// `Link` values of a room's page, such as `<stun:stun.example.net>; rel="ice-server"`. Called on the server's thread.
        package var iceServerLinks: @Sendable () -> [String] = { [] }

        package init() {}
    }

    private let sockets: SocketService<SocketServer>
    private let iceServerLinks: @Sendable () -> [String]

    /// - Parameter note: gets sentences about events for a log, on the server's thread.
    package init(_ configuration: Configuration, of http: HTTPServer, note: @escaping @Sendable (String) -> Void) {
        iceServerLinks = configuration.iceServerLinks
        var settings = EngineSession.Settings()
        // An offer of a browser has 10 kB at the most.
        settings.maxPayload = 100_000
        settings.mostWaiting = 1_000_000
        var limits = EngineLimits(sessions: configuration.mostClients)
        limits.heldGets = configuration.mostHeldGets
        let server = SocketServer(settings: settings, limits: limits, refusal: RoomServer.refusal) {
            var random = SystemRandomNumberGenerator()
            return randomName(digits: 30, using: &random)
        }
        let rooms = Mutex(
            Rooms(
                server: RoomServer(limits: configuration.limits),
                otherJoinedName: configuration.otherJoinedName,
                note: note
            )
        )
        sockets = SocketService(server, at: RoomEvent.path, of: http) { server, output, _ in
            rooms.withLock { $0.react(to: output, of: &server) }
        }
    }

    /// - Parameter completion: called once, perhaps after half a minute.
    package func respond(to request: HTTPRequest, completion: @escaping @Sendable (HTTPResponse) -> Void) {
        guard sockets.isFor(request) else {
            let page = request.method == .GET ? WebPage.roomResponse(to: request.path, iceServerLinks) : nil
            return completion(page ?? .sentence(.notFound, "there is nothing at \(request.path)"))
        }
        sockets.respond(to: request, completion: completion)
    }

    package func takeSocket(_ request: HTTPRequest) -> WebSocketOwner? { sockets.takeSocket(request) }
}

/// Connects the clients with the rooms.
struct Rooms: Sendable {
    private(set) var server: RoomServer
    let otherJoinedName: RoomEvent.OtherJoinedName
    let note: @Sendable (String) -> Void
    /// Clients of which an ignored event was logged already, so that they cannot fill the log.
    private(set) var blamed: Set<String> = []

    mutating func react(to output: SocketServer.Output, of sockets: inout SocketServer) {
        switch output {
        case .transport: break
        case .connected(let client, _, let payload): server.connected(client, payload)
        case .received(let client, let packet):
            if let id = packet.id, packet.kind == .event || packet.kind == .binaryEvent {
                sockets.send(.acknowledgement(of: id, []), to: client)
            }
            server.received(packet, from: client)
        case .disconnected(let client, _):
            blamed.remove(client)
            server.disconnected(client)
        }
        for output in server.takeOutputs() { perform(output, by: &sockets) }
    }

    private mutating func perform(_ output: RoomServer.Output, by sockets: inout SocketServer) {
        switch output {
        case .send(let event, let client):
            sockets.send(event.packet(otherJoinedAs: otherJoinedName), to: client)
            switch event {
            case .joined(let room, _): note("somebody came into room \(room)")
            case .leaved(let room, _): note("somebody left room \(room)")
            case .full(let room, _) where room.utf8.count <= RoomEvent.longestRoom:
                note("somebody was turned away, as room \(room) is full")
            default: break
            }
        case .relay(let packet, let client): sockets.send(packet, to: client)
        case .disconnect(let client): sockets.disconnect(client)
        case .ignored(let client, let what): if blamed.insert(client).inserted { note("ignored of a client: \(what)") }
        }
    }
}
