package import HTTP

/// A VideoRoom of Janus as people write it: `janus+ws://HOST:PORT/ROOM` or `janus+wss://HOST:PORT/ROOM`. A path before the room is that
/// of the WebSockets, behind a proxy.
package struct JanusAddress: Equatable, Sendable, CustomStringConvertible {
    /// Of its WebSockets.
    package let endpoint: WebURL
    /// Its number in decimal digits, or its name.
    package let room: String

    package init(parsing text: String) throws(CallEnd) {
        func no(_ why: String) -> CallEnd { CallEnd(.failed, "\(text) \(why)") }
        let malformed = no("is no room of Janus: write janus+ws://HOST:8188/ROOM or janus+wss://HOST:8989/ROOM")
        let lower = text.lowercased()
        let schemes = [("janus+ws://", "http://"), ("janus+wss://", "https://")]
        guard let (prefix, scheme) = schemes.first(where: { lower.hasPrefix($0.0) }),
            let url = WebURL(parsing: scheme + text.dropFirst(prefix.count)), !url.target.contains("?")
        else { throw malformed }
        let slash = url.target.lastIndex(of: "/")!
        guard let room = String(percentDecoding: url.target[slash...].dropFirst()), !room.isEmpty else {
            throw no("names no room: write its number after the server, as in janus+ws://HOST:8188/1234")
        }
        guard let endpoint = url.resolving(slash == url.target.startIndex ? "/" : String(url.target[..<slash])) else {
            throw malformed
        }
        (self.endpoint, self.room) = (endpoint, room)
    }

    /// The server as it was written.
    package var server: String { "ws" + "\(endpoint.origin)".dropFirst("http".count) }

    package var description: String {
        let path = endpoint.target == "/" ? "" : endpoint.target
        return "janus+\(server)\(path)/\(room.percentEncoded)"
    }
}
