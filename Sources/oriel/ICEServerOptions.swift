import ArgumentParser
import HTTP
import WebRTC

/// `HOST` or `HOST:PORT`, with or without `stun:`.
struct STUNServer {
    let host: String
    let port: UInt16

    init(parsing text: String) throws(ValidationError) {
        let place = text.hasPrefix("stun:") ? String(text.dropFirst(5)) : text
        (host, port) = try parsePlace(place)
    }

    var argument: String { "\(urlHost(host)):\(port)" }

    var link: String { "<stun:\(urlHost(host)):\(port)>; rel=\"ice-server\"" }
}

/// `USER:PASSWORD@HOST[:PORT][?transport=udp|tcp]`, with or without `turn:`. User and password may have percent escapes
/// (RFC 3986 §2.1), and must have one for a colon in the user.
struct TURNServer {
    let host: String
    let port: UInt16
    let username: String
    let password: String
    let relaying: ICEServer.Relaying

    init(parsing text: String) throws(ValidationError) {
        let form = ValidationError("give USER:PASSWORD@HOST[:PORT][?transport=tcp]")
        var rest = text.hasPrefix("turn:") ? text.dropFirst(5) : text[...]
        var relaying = ICEServer.Relaying.udp
        let at = rest.lastIndex(of: "@") ?? rest.startIndex
        if let mark = rest[at...].lastIndex(of: "?") {
            let parameter = rest[mark...].split(separator: "=")
            guard parameter.count == 2, parameter[0] == "?transport",
                let known = ICEServer.Relaying(rawValue: String(parameter[1]))
            else { throw form }
            relaying = known
            rest = rest[..<mark]
        }
        guard let colon = rest.firstIndex(of: ":"), colon < at,
            let username = String(percentDecoding: rest[..<colon]), !username.isEmpty,
            let password = String(percentDecoding: rest[rest.index(after: colon)..<at]), !password.isEmpty,
            !(username + password).unicodeScalars.contains(where: { $0 == "\"" || $0 == "\\" || $0.value < 0x20 })
        else { throw form }
        self.username = username
        self.password = password
        (host, port) = try parsePlace(String(rest[rest.index(after: at)...]))
        self.relaying = relaying
    }

    var argument: String {
        "\(username.percentEncoded):\(password.percentEncoded)@\(urlHost(host)):\(port)?transport=\(relaying.rawValue)"
    }

    /// draft-ietf-wish-whep-04 §4.6.
    var link: String {
        "<turn:\(urlHost(host)):\(port)?transport=\(relaying.rawValue)>; rel=\"ice-server\"; "
            + "username=\"\(username)\"; credential=\"\(password)\"; credential-type=\"password\""
    }
}

/// A host as it stands in a URL: an IPv6 address in brackets.
func urlHost(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

/// A host and its port: 3478, that of STUN and TURN, if the text names none.
private func parsePlace(_ text: String) throws(ValidationError) -> (String, UInt16) {
    let hasPort = text.contains(":") && !text.hasSuffix("]")
    let address = ListenAddress(parsing: hasPort ? text : "\(text):3478")
    guard let address, let host = address.host, address.port != 0 else {
        throw ValidationError("give HOST or HOST:PORT, such as stun.example.net:3478")
    }
    return (host, address.port)
}
