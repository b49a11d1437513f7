package import HTTP

/// A room as people write it: `room+http://HOST:PORT/ROOM` or `room+https://HOST:PORT/ROOM`.
package struct RoomAddress: Equatable, Sendable, CustomStringConvertible {
    package enum ParseError: Error, Equatable, CustomStringConvertible {
        case notARoom(String)
        case noServer(String)
        case noName(String)
        case nameTooLong(String)

        package var description: String {
            switch self {
            case .notARoom(let text): "\(text) is not a room: write room+https://HOST/ROOM"
            case .noServer(let text):
                "\(text) names no server: write room+https://HOST/ROOM or room+https://HOST:PORT/ROOM"
            case .noName(let text):
                "\(text) names no room: write its name after the server, as in room+https://HOST/ROOM"
            case .nameTooLong(let text):
                "the name of the room in \(text) is too long: choose one of \(RoomEvent.longestRoom) bytes at the most"
            }
        }
    }

    private static let prefix = "room+"

    package let server: WebOrigin
    /// 1…`RoomEvent.longestRoom` bytes.
    package let room: String

    package init(parsing text: String) throws(ParseError) {
        guard text.lowercased().hasPrefix(Self.prefix) else { throw .notARoom(text) }
        let rest = text.dropFirst(Self.prefix.count)
        guard let scheme = rest.firstRange(of: "://") else { throw .notARoom(text) }
        guard ["http", "https"].contains(rest[..<scheme.lowerBound].lowercased()) else { throw .notARoom(text) }
        let server = rest[..<(rest[scheme.upperBound...].firstIndex(of: "/") ?? rest.endIndex)]
        guard let origin = WebOrigin(parsing: String(server)) else { throw .noServer(text) }
        let name = rest[server.endIndex...].dropFirst()
        guard !name.isEmpty, let room = String(percentDecoding: name) else { throw .noName(text) }
        guard room.utf8.count <= RoomEvent.longestRoom else { throw .nameTooLong(text) }
        (self.server, self.room) = (origin, room)
    }

    package var description: String { "\(Self.prefix)\(server)/\(room.percentEncoded)" }
}
