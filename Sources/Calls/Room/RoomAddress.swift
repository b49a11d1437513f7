package import HTTP

/// A room as people write it: `room+http://HOST:PORT/ROOM` or `room+https://HOST:PORT/ROOM`.
package struct RoomAddress: Equatable, Sendable, CustomStringConvertible {
    private static let prefix = "room+"

    package let server: WebOrigin
    /// 1…`RoomEvent.longestRoom` bytes.
    package let room: String

    package init(parsing text: String) throws(CallEnd) {
        func no(_ why: String) -> CallEnd { CallEnd(.failed, "\(text) \(why)") }
        let notARoom = no("is not a room: write room+https://HOST/ROOM")
        guard text.lowercased().hasPrefix(Self.prefix) else { throw notARoom }
        let rest = text.dropFirst(Self.prefix.count)
        guard let scheme = rest.firstRange(of: "://") else { throw notARoom }
        guard ["http", "https"].contains(rest[..<scheme.lowerBound].lowercased()) else { throw notARoom }
        let server = rest[..<(rest[scheme.upperBound...].firstIndex(of: "/") ?? rest.endIndex)]
        guard let origin = WebOrigin(parsing: String(server)) else {
            throw no("names no server: write room+https://HOST/ROOM or room+https://HOST:PORT/ROOM")
        }
        let name = rest[server.endIndex...].dropFirst()
        guard !name.isEmpty, let room = String(percentDecoding: name) else {
            throw no("names no room: write its name after the server, as in room+https://HOST/ROOM")
        }
        guard room.utf8.count <= RoomEvent.longestRoom else {
            throw CallEnd(
                .failed,
                "the name of the room in \(text) is too long: choose one of \(RoomEvent.longestRoom) bytes at the most"
            )
        }
        (self.server, self.room) = (origin, room)
    }

    package var description: String { "\(Self.prefix)\(server)/\(room.percentEncoded)" }
}
