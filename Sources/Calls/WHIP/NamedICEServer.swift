package import HTTP
package import ICE

/// A STUN or TURN server that a WHIP server names (RFC 9725 §4.6, RFC 7064, RFC 7065).
package struct NamedICEServer: Hashable, Sendable {
    package enum Service: Hashable, Sendable {
        case stun
        case turn(TURNTransport, username: String, password: String)
    }

    package enum Flaw: Error, Equatable, CustomStringConvertible {
        case malformed
        case unknown(scheme: String)
        case noLogin(host: String)

        package var description: String {
            switch self {
            case .malformed: "one whose address is malformed"
            case .unknown(let scheme): "one by \(scheme.isEmpty ? "no scheme" : scheme)"
            case .noLogin(let host): "\(host), of which it gives no password"
            }
        }
    }

    /// In bytes, of a username (RFC 8489 §14.3) and of a password.
    private static let longestWord = 508

    /// A name or an address; in lower case, of IPv6 without brackets.
    package let host: String
    package let port: UInt16
    package let service: Service

    /// - Parameter link: one of the relation `ice-server`.
    package init(_ link: LinkHeader) throws(Flaw) {
        // Some servers escape all of it.
        let isEscaped = !link.target.contains(":")
        guard let text = isEscaped ? String(percentDecoding: link.target[...]) : link.target,
            let colon = text.firstIndex(of: ":")
        else { throw .malformed }
        let scheme = text[..<colon].lowercased()
        guard ["stun", "turn", "turns"].contains(scheme) else { throw .unknown(scheme: String(quoting: scheme)) }
        let rest = text[colon...].dropFirst()
        let place = rest.prefix { $0 != "?" }
        guard let (host, port) = Self.place(place, defaultPort: scheme == "turns" ? 5349 : 3478) else {
            throw .malformed
        }
        (self.host, self.port) = (host, port)
        guard scheme != "stun" else {
            service = .stun
            return
        }
        let transport: TURNTransport
        switch (scheme, rest.dropFirst(place.count).lowercased()) {
        case ("turn", ""), ("turn", "?transport=udp"): transport = .udp
        case ("turn", "?transport=tcp"): transport = .tcp
        case ("turns", ""), ("turns", "?transport=tcp"): transport = .tls
        default: throw .unknown(scheme: "\(scheme) in this way")
        }
        guard link["credential-type"].map({ $0.lowercased() == "password" }) ?? true,
            let username = link["username"], let password = link["credential"],
            [username, password].allSatisfy({ word in
                1...Self.longestWord ~= word.utf8.count && !word.utf8.contains { $0 < 0x20 || $0 == 0x7F }
            })
        else { throw .noLogin(host: host) }
        service = .turn(transport, username: username, password: password)
    }

    private static func place(_ text: Substring, defaultPort: UInt16) -> (String, UInt16)? {
        let hasPort = text.contains(":") && !text.hasSuffix("]")
        guard let address = ListenAddress(parsing: hasPort ? "\(text)" : "\(text):\(defaultPort)"),
            let host = address.host, address.port != 0, host.utf8.count <= 253,
            host.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !"/@?#\"\\<>[]%".utf8.contains($0) })
        else { return nil }
        return (host.lowercased(), address.port)
    }

    /// The servers that links name, each once, and the flaws of unusable ones.
    package static func servers(in links: [LinkHeader]) -> (usable: [NamedICEServer], flaws: [Flaw]) {
        var servers: [NamedICEServer] = []
        var flaws: [Flaw] = []
        for link in links where link.hasRelation("ice-server") {
            do throws(Flaw) {
                let server = try NamedICEServer(link)
                if !servers.contains(server) { servers.append(server) }
            } catch {
                if !flaws.contains(error) { flaws.append(error) }
            }
        }
        return (servers, flaws)
    }
}
