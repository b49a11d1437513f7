import HTTP
package import ICE

/// `HOST` or `HOST:PORT`, with or without `stun:`.
package struct STUNServer: Spelled {
    package let host: String
    package let port: UInt16

    package init(spelling text: String) throws(ConfigurationError) {
        let place = text.hasPrefix("stun:") ? String(text.dropFirst(5)) : text
        (host, port) = try parsePlace(place, defaultPort: 3478)
    }

    /// With the scheme: a host may be called `stun`.
    package var spelling: String { "stun:\(urlHost(host)):\(port)" }
}

/// `USER:PASSWORD@HOST[:PORT][?transport=udp|tcp]`, with or without `turn:`, or with `turns:` for TLS. User and
/// password may have percent escapes (RFC 3986 §2.1), and must have one for a colon in the user. With a secret, which
/// makes both, they are left out.
package struct TURNServer: Spelled, CustomStringConvertible {
    package struct Login: Equatable, Sendable {
        package let username: String
        package let password: String
    }

    package let host: String
    package let port: UInt16
    package let transport: TURNTransport
    /// Nil if a secret makes it.
    package let login: Login?

    package init(spelling text: String) throws(ConfigurationError) {
        let form = ConfigurationError("give [turns:]USER:PASSWORD@HOST[:PORT][?transport=tcp]")
        let isSecure = text.hasPrefix("turns:")
        var rest = isSecure ? text.dropFirst(6) : text.hasPrefix("turn:") ? text.dropFirst(5) : text[...]
        var transport = isSecure ? TURNTransport.tls : .udp
        let at = rest.lastIndex(of: "@")
        if let mark = rest[(at ?? rest.startIndex)...].lastIndex(of: "?") {
            let parameter = rest[mark...].split(separator: "=")
            guard parameter.count == 2, parameter[0] == "?transport",
                let known = TURNTransport(rawValue: String(parameter[1])),
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
            login = Login(username: username, password: password)
            rest = rest[rest.index(after: at)...]
        } else {
            login = nil
        }
        (host, port) = try parsePlace(String(rest), defaultPort: isSecure ? 5349 : 3478)
        self.transport = transport
    }

    package var spelling: String {
        let user = login.map { "\($0.username.percentEncoded):\($0.password.percentEncoded)@" } ?? ""
        let place = "\(user)\(urlHost(host)):\(port)"
        // With the scheme: a user or a host may be called `turn`.
        return transport == .tls ? "turns:\(place)" : "turn:\(place)?transport=\(transport.rawValue)"
    }

    /// For people, without the login.
    package var description: String { transport.address(of: "\(urlHost(host)):\(port)") }
}

/// A host in the form of URLs: an IPv6 address in brackets.
package func urlHost(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

private func parsePlace(_ text: String, defaultPort: UInt16) throws(ConfigurationError) -> (String, UInt16) {
    let hasPort = text.contains(":") && !text.hasSuffix("]")
    let address = ListenAddress(parsing: hasPort ? text : "\(text):\(defaultPort)")
    guard let address, let host = address.host, address.port != 0 else {
        throw ConfigurationError("give HOST or HOST:PORT, such as stun.example.net:3478")
    }
    return (host, address.port)
}
