import ArgumentParser
import HTTP
import ICE

/// `HOST` or `HOST:PORT`, with or without `stun:`.
struct STUNServer {
    let host: String
    let port: UInt16

    init(parsing text: String) throws(ValidationError) {
        let place = text.hasPrefix("stun:") ? String(text.dropFirst(5)) : text
        (host, port) = try parsePlace(place, defaultPort: 3478)
    }

    var argument: String { "\(urlHost(host)):\(port)" }

    /// For people.
    var name: String { "stun:\(argument)" }

    var link: String { "<\(name)>; rel=\"ice-server\"" }
}

/// `USER:PASSWORD@HOST[:PORT][?transport=udp|tcp]`, with or without `turn:`, or with `turns:` for TLS. User and password may have
/// percent escapes (RFC 3986 §2.1), and must have one for a colon in the user; they are left out where a secret makes them.
struct TURNServer {
    enum Transport: String {
        case udp, tcp, tls
    }

    let host: String
    let port: UInt16
    let transport: Transport
    private let login: (username: String, password: String)?

    init(parsing text: String) throws(ValidationError) {
        let form = ValidationError("give [turns:]USER:PASSWORD@HOST[:PORT][?transport=tcp]")
        let isSecure = text.hasPrefix("turns:")
        var rest = isSecure ? text.dropFirst(6) : text.hasPrefix("turn:") ? text.dropFirst(5) : text[...]
        var transport = isSecure ? Transport.tls : .udp
        let at = rest.lastIndex(of: "@")
        if let mark = rest[(at ?? rest.startIndex)...].lastIndex(of: "?") {
            let parameter = rest[mark...].split(separator: "=")
            guard parameter.count == 2, parameter[0] == "?transport",
                let known = Transport(rawValue: String(parameter[1])),
                known == .tcp || known == .udp && !isSecure
            else { throw form }
            if !isSecure { transport = known }
            rest = rest[..<mark]
        }
        if let at {
            guard let colon = rest.firstIndex(of: ":"), colon < at,
                let username = String(percentDecoding: rest[..<colon]), !username.isEmpty,
                let password = String(percentDecoding: rest[rest.index(after: colon)..<at]), !password.isEmpty,
                !(username + password).unicodeScalars.contains(where: { $0 == "\"" || $0 == "\\" || $0.value < 0x20 })
            else { throw form }
            login = (username, password)
            rest = rest[rest.index(after: at)...]
        } else {
            login = nil
        }
        (host, port) = try parsePlace(String(rest), defaultPort: isSecure ? 5349 : 3478)
        self.transport = transport
    }

    var argument: String {
        let user = login.map { "\($0.username.percentEncoded):\($0.password.percentEncoded)@" } ?? ""
        let place = "\(user)\(urlHost(host)):\(port)"
        return transport == .tls ? "turns:\(place)" : "\(place)?transport=\(transport.rawValue)"
    }

    /// For people, without the login.
    var name: String {
        let place = "\(urlHost(host)):\(port)"
        return switch transport {
        case .udp: "turn:\(place)"
        case .tcp: "turn:\(place)?transport=tcp"
        case .tls: "turns:\(place)"
        }
    }

    /// - Parameter secret: the secret that the server shares with this machine, of which logins are made; nil for none.
    func credentials(_ secret: TURNSecret?) throws(ValidationError) -> TURNCredentials {
        if let login { return .password(username: login.username, password: login.password) }
        if let secret { return .secret(secret, lifetime: Self.loginLifetime) }
        throw ValidationError(
            "the TURN server \(host) has no login: give USER:PASSWORD@HOST, or --turn-secret-file."
        )
    }

    /// draft-uberti-behave-turn-rest-00 §2.2 recommends a day.
    private static let loginLifetime = Duration.seconds(86_400)

    /// draft-ietf-wish-whep-04 §4.6.
    func link(_ credentials: TURNCredentials) -> String {
        let (scheme, way) = transport == .tls ? ("turns", "tcp") : ("turn", transport.rawValue)
        let (username, password) = credentials.current()
        return "<\(scheme):\(urlHost(host)):\(port)?transport=\(way)>; rel=\"ice-server\"; "
            + "username=\"\(username)\"; credential=\"\(password)\"; credential-type=\"password\""
    }
}

/// A host as it stands in a URL: an IPv6 address in brackets.
func urlHost(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

/// A host and its port.
private func parsePlace(_ text: String, defaultPort: UInt16) throws(ValidationError) -> (String, UInt16) {
    let hasPort = text.contains(":") && !text.hasSuffix("]")
    let address = ListenAddress(parsing: hasPort ? text : "\(text):\(defaultPort)")
    guard let address, let host = address.host, address.port != 0 else {
        throw ValidationError("give HOST or HOST:PORT, such as stun.example.net:3478")
    }
    return (host, address.port)
}
