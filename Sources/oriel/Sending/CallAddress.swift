import ArgumentParser
import Calls
import HTTP

/// A call by its name on the command line.
enum CallAddress: Equatable, CustomStringConvertible {
    case janus(JanusAddress)
    case plainRTP(RTPDestination)
    case room(RoomAddress)
    case web
    /// The endpoint of a media server.
    case whip(WebURL)

    /// Characters of the longest name.
    private static let longest = 2000

    init(parsing text: String) throws {
        guard text.utf8.count <= Self.longest else {
            throw ValidationError("a call has a name of \(Self.longest) characters at the most")
        }
        if text == "web" {
            self = .web
        } else if text.lowercased().hasPrefix("janus+") {
            self = .janus(try JanusAddress(parsing: text))
        } else if text.lowercased().hasPrefix("room+") {
            self = .room(try RoomAddress(parsing: text))
        } else if text.lowercased().hasPrefix("whip+") {
            guard let endpoint = WebURL(parsing: String(text.dropFirst(5))) else {
                // It may hold a secret.
                throw ValidationError("that is no endpoint of WHIP: write whip+https://HOST/PATH, and no login in it")
            }
            self = .whip(endpoint)
        } else if text.lowercased().hasPrefix("rtp:") {
            self = .plainRTP(try RTPDestination(parsing: text))
        } else if ["http:", "https:"].contains(where: text.lowercased().hasPrefix) {
            // It may hold a secret.
            throw ValidationError(
                "a web address alone is no call: write whip+ before a media server's, room+ before a room's"
            )
        } else {
            throw ValidationError("\(text) is no call: write \(Self.forms)")
        }
    }

    /// How calls are written, for people.
    static let forms = """
        web, room+https://HOST/ROOM, whip+https://HOST/PATH, janus+ws://HOST:PORT/ROOM, or rtp://HOST:PORT
        """

    /// Where a plain RTP call sends; nil for others.
    var destination: RTPDestination? { if case .plainRTP(let destination) = self { destination } else { nil } }

    var isJanus: Bool { if case .janus = self { true } else { false } }

    var isWHIP: Bool { if case .whip = self { true } else { false } }

    /// Whether others run it, by a server that this side asks.
    var isJoined: Bool {
        switch self {
        case .janus, .room, .whip: true
        case .plainRTP, .web: false
        }
    }

    /// As a command line has it.
    var argument: String { if case .whip(let endpoint) = self { "whip+\(endpoint)" } else { "\(self)" } }

    /// For people: addresses of media servers without what may be secret in them.
    var description: String {
        switch self {
        case .janus(let address): "\(address)"
        case .plainRTP(let destination): "\(destination)"
        case .room(let address): "\(address)"
        case .web: "web"
        case .whip(let endpoint): "whip+\(endpoint.summary)"
        }
    }
}
