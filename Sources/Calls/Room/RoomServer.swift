package import JSON
package import SocketIO

/// The rooms of a server with their members. A client with a token frees the seat of an earlier connection with the same token. Sans-IO.
package struct RoomServer: Sendable {
    package struct Limits: Sendable {
        /// Seats of a room.
        package var capacity = 2
        package var roomsOfOneClient = 4
        package var rooms = 10_000

        package init() {}
    }

    package enum Output: Sendable, Equatable {
        case send(RoomEvent, client: String)
        /// Passes a message on unchanged.
        case relay(SocketPacket, client: String)
        /// The client has come again.
        case disconnect(client: String)
        /// An event without an effect, with the reason.
        case ignored(client: String, String)
    }

    private struct Client: Sendable {
        var token: String?
        var rooms: Set<String> = []
    }

    /// Bytes of a token at the most.
    static let longestToken = 1024

    private let limits: Limits
    private var clients: [String: Client] = [:]
    /// The members of each room in the order of their coming; never empty.
    private(set) var rooms: [String: [String]] = [:]
    private var outputs: [Output] = []

    package init(limits: Limits = Limits()) { self.limits = limits }

    package mutating func takeOutputs() -> [Output] { exchange(&outputs, with: []) }

    // MARK: - Events of clients

    /// The sentence for a client that is refused for its payload; nil if it may connect.
    package static func refusal(of payload: JSONText?) -> String? {
        guard let token = token(in: payload), token.utf8.count > longestToken else { return nil }
        return "the token is longer than \(longestToken) bytes: give a shorter one"
    }

    private static func token(in payload: JSONText?) -> String? {
        payload?["token"]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// - Parameter payload: from the client; it was not refused. Its `token`, if any, identifies the client.
    package mutating func connected(_ id: String, _ payload: JSONText?) {
        clients[id] = Client(token: Self.token(in: payload))
    }

    package mutating func disconnected(_ id: String) {
        guard let client = clients.removeValue(forKey: id) else { return }
        for room in client.rooms.sorted() { giveUpSeat(of: id, in: room) }
    }

    package mutating func received(_ packet: SocketPacket, from id: String) {
        guard clients[id] != nil else { return }
        switch RoomEvent(packet) {
        case .join(let room): join(room, id)
        case .leave(let room): leave(room, id)
        case .message(let room, _):
            guard isIn(room, id) else {
                return outputs.append(.ignored(client: id, "a message for a room that it is not in"))
            }
            var message = packet
            // Nobody waits for an acknowledgement of the other member.
            message.id = nil
            for other in others(than: id, in: room) {
                // With two members, the sender is clear.
                if limits.capacity > 2 { outputs.append(.send(.sender(room: room, id: id), client: other)) }
                outputs.append(.relay(message, client: other))
            }
        default: outputs.append(.ignored(client: id, "an event that no client sends"))
        }
    }

    // MARK: - Seats

    private mutating func join(_ room: String, _ id: String) {
        guard room.utf8.count <= RoomEvent.longestRoom else {
            outputs.append(.ignored(client: id, "it joins a room whose name is too long"))
            // Clients know no other refusal.
            return outputs.append(.send(.full(room: room, id: id), client: id))
        }
        if isIn(room, id) { return outputs.append(.send(.joined(room: room, id: id), client: id)) }
        if let token = clients[id]?.token,
            let earlier = rooms[room]?.first(where: { clients[$0]?.token == token })
        {
            outputs.append(.disconnect(client: earlier))
            disconnected(earlier)
        }
        guard (rooms[room]?.count ?? 0) < limits.capacity, rooms[room] != nil || rooms.count < limits.rooms,
            clients[id]!.rooms.count < limits.roomsOfOneClient
        else { return outputs.append(.send(.full(room: room, id: id), client: id)) }
        let others = rooms[room] ?? []
        rooms[room, default: []].append(id)
        clients[id]?.rooms.insert(room)
        outputs.append(.send(.joined(room: room, id: id), client: id))
        for other in others { outputs.append(.send(.otherJoined(room: room, id: id), client: other)) }
    }

    private mutating func leave(_ room: String, _ id: String) {
        guard isIn(room, id) else {
            return outputs.append(.ignored(client: id, "it leaves a room that it is not in"))
        }
        outputs.append(.send(.leaved(room: room, id: id), client: id))
        clients[id]?.rooms.remove(room)
        giveUpSeat(of: id, in: room)
    }

    private mutating func giveUpSeat(of id: String, in room: String) {
        for other in others(than: id, in: room) { outputs.append(.send(.bye(room: room, id: id), client: other)) }
        rooms[room]?.removeAll { $0 == id }
        if rooms[room]?.isEmpty ?? false { rooms[room] = nil }
    }

    private func others(than id: String, in room: String) -> [String] { rooms[room]?.filter { $0 != id } ?? [] }

    private func isIn(_ room: String, _ id: String) -> Bool { clients[id]?.rooms.contains(room) ?? false }
}
