package import HTTP

/// A VideoRoom of Janus as people write it: `janus+ws://HOST:PORT/ROOM` or `janus+wss://HOST:PORT/ROOM`. A path before the room is that
/// of the WebSockets, behind a proxy.
package struct JanusAddress: Equatable, Sendable, CustomStringConvertible {
    package enum ParseError: Error, Equatable, CustomStringConvertible {
        case malformed(String)
        case noRoom(String)

        package var description: String {
            switch self {
            case .malformed(let text):
                "\(text) is no room of Janus: write janus+ws://HOST:8188/ROOM or janus+wss://HOST:8989/ROOM"
            case .noRoom(let text):
                "\(text) names no room: write its number after the server, as in janus+ws://HOST:8188/1234"
            }
        }
    }

    /// Of its WebSockets.
    package let endpoint: WebURL
    /// Its number in decimal digits, or its name.
    package let room: String

    package init(parsing text: String) throws(ParseError) {
        let lower = text.lowercased()
        let schemes = [("janus+ws://", "http://"), ("janus+wss://", "https://")]
        guard let (prefix, scheme) = schemes.first(where: { lower.hasPrefix($0.0) }),
            let url = WebURL(parsing: scheme + text.dropFirst(prefix.count)), !url.target.contains("?")
        else { throw .malformed(text) }
        let slash = url.target.lastIndex(of: "/")!
        guard let room = String(percentDecoding: url.target[slash...].dropFirst()), !room.isEmpty else {
            throw .noRoom(text)
        }
        guard let endpoint = url.resolving(slash == url.target.startIndex ? "/" : String(url.target[..<slash])) else {
            throw .malformed(text)
        }
        (self.endpoint, self.room) = (endpoint, room)
    }

    /// The server as it was written.
    package var server: String { Self.webSocket("\(endpoint.origin)") }

    package var description: String {
        let path = endpoint.target == "/" ? "" : endpoint.target
        return "janus+\(server)\(path)/\(room.percentEncoded)"
    }

    private static func webSocket(_ origin: String) -> String { "ws" + origin.dropFirst("http".count) }
}
