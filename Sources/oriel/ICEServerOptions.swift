import ArgumentParser
import Calls
import WebRTC

/// `HOST` or `HOST:PORT`, with or without `stun:`.
struct STUNServer {
    let host: String
    let port: UInt16

    init(parsing text: String) throws(ValidationError) {
        let place = text.hasPrefix("stun:") ? String(text.dropFirst(5)) : text
        (host, port) = try parsePlace(place, defaultPort: 3478)
    }

    var argument: String { "\(urlHost(host)):\(port)" }

    var link: String { "<stun:\(urlHost(host)):\(port)>; rel=\"ice-server\"" }
}

/// `USER:PASSWORD@HOST[:PORT][?transport=udp|tcp]`, with or without `turn:`.
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
        if let mark = rest.lastIndex(of: "?") {
            let parameter = rest[mark...].split(separator: "=")
            guard parameter.count == 2, parameter[0] == "?transport",
                let known = ICEServer.Relaying(rawValue: String(parameter[1]))
            else { throw form }
            relaying = known
            rest = rest[..<mark]
        }
        guard let at = rest.lastIndex(of: "@"), let colon = rest.firstIndex(of: ":"), colon < at else { throw form }
        username = String(rest[..<colon])
        password = String(rest[rest.index(after: colon)..<at])
        guard !username.isEmpty, !password.isEmpty, !text.contains("\""), !text.contains(where: \.isNewline) else {
            throw form
        }
        (host, port) = try parsePlace(String(rest[rest.index(after: at)...]), defaultPort: 3478)
        self.relaying = relaying
    }

    var argument: String { "\(username):\(password)@\(urlHost(host)):\(port)?transport=\(relaying.rawValue)" }

    /// draft-ietf-wish-whep-04 §4.6.
    var link: String {
        "<turn:\(urlHost(host)):\(port)?transport=\(relaying.rawValue)>; rel=\"ice-server\"; "
            + "username=\"\(username)\"; credential=\"\(password)\"; credential-type=\"password\""
    }
}

private func urlHost(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

private func parsePlace(_ text: String, defaultPort: UInt16) throws(ValidationError) -> (String, UInt16) {
    let form = ValidationError("give HOST or HOST:PORT, such as stun.example.net:3478")
    if text.hasPrefix("["), text.hasSuffix("]"), text.utf8.count > 2 {
        return (String(text.dropFirst().dropLast()), defaultPort)
    }
    if !text.contains(":"), !text.isEmpty { return (text, defaultPort) }
    guard let address = ListenAddress(parsing: text), let host = address.host, address.port != 0 else { throw form }
    return (host, address.port)
}
