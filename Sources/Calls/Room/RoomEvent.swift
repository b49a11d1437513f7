package import JSON
package import SocketIO

/// An event of Socket.IO between a client and the server of one-to-one rooms.
package enum RoomEvent: Sendable, Equatable {
    // By clients.
    case join(room: String)
    case leave(room: String)
    // By the server, to the client that it is about, with the id of its connection.
    case joined(room: String, id: String)
    case leaved(room: String, id: String)
    case full(room: String, id: String)
    // By the server, to the other client, with the id of the one that it is about.
    case otherJoined(room: String, id: String)
    case bye(room: String, id: String)
    /// By a server with more than two seats in a room: the id of the sender of the next message. Other programs ignore this event.
    case sender(room: String, id: String)
    /// By either: a message of the members, which the server passes on unchanged.
    case message(room: String, JSONText)

    /// The names in use for `otherJoined`.
    package enum OtherJoinedName: String, Sendable, CaseIterable {
        case otherjoin
        case otherJoined = "other_joined"
        case otherJoin = "other_join"
    }

    /// The default path of clients and servers of Socket.IO.
    static let path = "/socket.io/"
    /// Bytes of a room's name at the most.
    static let longestRoom = 128

    /// An event with the arguments room and id or data, or with one object of these; nil for other events.
    package init?(_ packet: SocketPacket) {
        guard var arguments = packet.data?.elements, let name = arguments.first?.string else { return nil }
        arguments.removeFirst()
        var (room, id, data) = (
            arguments.first?.string, arguments.dropFirst().first?.string, arguments.dropFirst().first
        )
        if let object = arguments.first, object.isObject {
            (room, id, data) = (object["room"]?.string, object["id"]?.string, object["data"])
        }
        // A member that joins a room with a longer name is told that there is none.
        guard let room, !room.isEmpty, name == "join" || room.utf8.count <= Self.longestRoom else { return nil }
        switch name {
        case "join": self = .join(room: room)
        case "leave": self = .leave(room: room)
        case "joined": self = .joined(room: room, id: id ?? "")
        case "leaved": self = .leaved(room: room, id: id ?? "")
        case "full": self = .full(room: room, id: id ?? "")
        case "bye": self = .bye(room: room, id: id ?? "")
        case "from": self = .sender(room: room, id: id ?? "")
        case "message":
            guard let data else { return nil }
            self = .message(room: room, data)
        default:
            guard OtherJoinedName(rawValue: name) != nil else { return nil }
            self = .otherJoined(room: room, id: id ?? "")
        }
    }

    /// - Parameter name: of `otherJoined`.
    package func packet(otherJoinedAs name: OtherJoinedName = .otherjoin) -> SocketPacket {
        func event(_ name: String, _ arguments: String...) -> SocketPacket {
            .event(name, arguments.map { JSONText(string: $0) })
        }
        return switch self {
        case .join(let room): event("join", room)
        case .leave(let room): event("leave", room)
        case .joined(let room, let id): event("joined", room, id)
        case .leaved(let room, let id): event("leaved", room, id)
        case .full(let room, let id): event("full", room, id)
        case .otherJoined(let room, let id): event(name.rawValue, room, id)
        case .bye(let room, let id): event("bye", room, id)
        case .sender(let room, let id): event("from", room, id)
        case .message(let room, let data): .event("message", [JSONText(string: room), data])
        }
    }
}
