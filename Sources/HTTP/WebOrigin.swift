/// A host and perhaps a port, as in URLs and the `Host` field (RFC 3986 §3.2).
struct WebAuthority: Equatable {
    /// The host in lower case; an IPv6 address without brackets.
    let host: String
    let port: UInt16?

    /// `host`, `host:port` or `[ipv6]:port`.
    init?(parsing text: some StringProtocol) {
        let host: Substring
        var rest = Substring(text)
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            host = rest[..<end].dropFirst()
            guard host.contains(":") else { return nil }
            rest = rest[end...].dropFirst()
        } else {
            host = rest.prefix { $0 != ":" }
            rest = rest.dropFirst(host.count)
        }
        guard !host.isEmpty, !host.contains(where: { "/@?#".contains($0) || $0.isWhitespace }) else { return nil }
        self.host = host.lowercased()
        // Without a port, even after a colon, the port is the scheme's.
        if rest.isEmpty || rest == ":" {
            port = nil
        } else {
            guard rest.first == ":", rest.dropFirst().utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
                let number = UInt16(rest.dropFirst())
            else { return nil }
            port = number
        }
    }
}

/// The origin of a page, as browsers compare it (RFC 6454 §4).
package struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
    package enum Scheme: String, Sendable { case http, https }

    let scheme: Scheme
    let host: String
    /// The port; the scheme's if the text names none.
    let port: UInt16

    init(_ scheme: Scheme, host: String, port: UInt16) { (self.scheme, self.host, self.port) = (scheme, host, port) }

    /// `http://HOST`, `https://HOST:PORT` and so on; a slash may follow. Nil for anything else, such as `null`.
    package init?(parsing text: String) {
        let lower = text.lowercased()
        guard let end = lower.firstRange(of: "://"), let scheme = Scheme(rawValue: String(lower[..<end.lowerBound])),
            let authority = WebAuthority(
                parsing: lower.hasSuffix("/") ? lower[end.upperBound...].dropLast() : lower[end.upperBound...]
            )
        else { return nil }
        self.scheme = scheme
        host = authority.host
        port = authority.port ?? (scheme == .http ? 80 : 443)
    }

    package var isSecure: Bool { scheme == .https }

    /// Whether its secrets may be sent to another origin: to itself, or to the same host over TLS.
    package func shares(secretsWith other: WebOrigin) -> Bool { self == other || host == other.host && other.isSecure }

    /// The form that is parsed.
    package var description: String { "\(scheme.rawValue)://\(hostField)" }

    /// The value of the `Host` field (RFC 9110 §7.2).
    var hostField: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}
