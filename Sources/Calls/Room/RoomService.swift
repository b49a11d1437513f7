package import HTTP
import NIOHTTP1
import SocketIO
import Synchronization
import Time

/// One-to-one rooms for whoever speaks Socket.IO with an HTTP server. Close that server before the service is let go.
package final class RoomService: Sendable {
    package struct Configuration: Sendable {
        package var limits = RoomServer.Limits()
        package var otherJoinedName = RoomEvent.OtherJoinedName.otherjoin
        /// Clients at once.
        package var mostClients = 4096

        package init() {}
    }

    /// What happens in the rooms, for a log.
    package enum Event: Sendable, CustomStringConvertible {
        case joined(room: String)
        case left(room: String)
        case full(room: String)
        case ignored(String)

        package var description: String {
            switch self {
            case .joined(let room): "somebody came into room \(room)"
            case .left(let room): "somebody left room \(room)"
            case .full(let room): "somebody was turned away, as room \(room) is full"
            case .ignored(let what): "a client sent what does nothing: \(what)"
            }
        }
    }

    /// The path of Socket.IO, as its clients have it if they are told nothing else.
    private static let path = "/socket.io/"

    private let sockets: SocketService<SocketServer>

    /// - Parameters:
    ///   - http: the server whose requests come here.
    ///   - note: is told what happens, on the server's thread.
    package init(_ configuration: Configuration, of http: HTTPServer, note: @escaping @Sendable (Event) -> Void) {
        let rooms = Mutex(RoomServer(limits: configuration.limits))
        var settings = EngineSession.Settings()
        // An offer of a browser has 10 kB at the most.
        settings.maxPayload = 100_000
        settings.mostWaiting = 1_000_000
        let server = SocketServer(settings: settings, mostSessions: configuration.mostClients) { randomID() }
        let driver = Driver(otherJoinedName: configuration.otherJoinedName, note: note)
        sockets = SocketService(server, at: Self.path, of: http) { server, now in
            rooms.withLock { rooms in driver.react(&server, &rooms, now) }
        }
    }

    /// - Parameter completion: called once, perhaps after half a minute.
    package func respond(to request: HTTPRequest, completion: @escaping @Sendable (HTTPResponse) -> Void) {
        guard sockets.isFor(request) else {
            return completion(.sentence(.notFound, "there is nothing at \(request.path)"))
        }
        sockets.respond(to: request, completion: completion)
    }

    package func takeSocket(_ request: HTTPRequest) -> WebSocketOwner? { sockets.takeSocket(request) }
}

/// Carries what happens from the clients to the rooms, and back.
private struct Driver: Sendable {
    let otherJoinedName: RoomEvent.OtherJoinedName
    let note: @Sendable (RoomService.Event) -> Void

    func react(_ server: inout SocketServer, _ rooms: inout RoomServer, _ now: Instant) -> [EngineServer.Action] {
        var actions: [EngineServer.Action] = []
        while true {
            let outputs = server.takeOutputs()
            if outputs.isEmpty { return actions }
            for output in outputs {
                switch output {
                case .transport(let action): actions.append(action)
                case .connected(let client, _, let payload): rooms.connected(client, payload, now: now)
                case .received(let client, let packet):
                    if let id = packet.id, packet.kind == .event || packet.kind == .binaryEvent {
                        server.send(.acknowledgement(of: id, []), to: client)
                    }
                    rooms.received(packet, from: client, now: now)
                case .disconnected(let client, _): rooms.disconnected(client)
                }
                for output in rooms.takeOutputs() { perform(output, &server) }
            }
        }
    }

    private func perform(_ output: RoomServer.Output, _ server: inout SocketServer) {
        switch output {
        case .send(let event, let client):
            server.send(event.packet(otherJoinedAs: otherJoinedName), to: client)
            switch event {
            case .joined(let room, _): note(.joined(room: room))
            case .leaved(let room, _): note(.left(room: room))
            case .full(let room, _): note(.full(room: room))
            default: break
            }
        case .relay(let packet, let client): server.send(packet, to: client)
        case .disconnect(let client): server.disconnect(client)
        case .ignored(_, let what): note(.ignored(what))
        }
    }
}

/// A name of 120 random bits.
private func randomID() -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    return String((0..<20).map { _ in alphabet.randomElement()! })
}
