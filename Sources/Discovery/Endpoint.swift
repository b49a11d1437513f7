/// Where a device is reached.
package struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// An address in numbers, or a name.
    package let host: String
    /// The index of the interface behind which a link-local address lies (RFC 4007 §6); 0 for others.
    package let interface: UInt32
    package let port: UInt16

    package init(host: String, interface: UInt32 = 0, port: UInt16) {
        (self.host, self.interface, self.port) = (host, Self.isLinkLocal(host) ? interface : 0, port)
    }

    package var description: String {
        let zone = interface == 0 || !host.contains(":") ? "" : "%\(interface)"
        return host.contains(":") ? "[\(host)\(zone)]:\(port)" : "\(host):\(port)"
    }

    /// - Parameter text: `192.0.2.7:4433`, `[2001:db8::7]:4433`, `[fe80::7%2]:4433`, `desk.local`: without a port, it is the usual one.
    /// - Returns: nil for other texts.
    package init?(_ text: String) {
        let isBracketed = text.hasPrefix("[")
        var (host, rest) = (text[...], text[text.endIndex...])
        if isBracketed {
            guard let end = text.firstIndex(of: "]") else { return nil }
            (host, rest) = (text[..<end].dropFirst(), text[text.index(after: end)...])
        } else if text.count(where: { $0 == ":" }) == 1 {
            (host, rest) = (text.prefix { $0 != ":" }, text.drop { $0 != ":" })
        }
        var port: UInt16? = Self.usualPort
        if !rest.isEmpty { port = rest.hasPrefix(":") ? UInt16(rest.dropFirst()) : nil }
        let parts = host.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        let interface = parts.count == 2 ? UInt32(parts[1]) : 0
        let isHost = parts[0].utf8.allSatisfy {
            0x30...0x39 ~= $0 || 0x61...0x7A ~= $0 | 0x20 || [0x2D, 0x2E, 0x3A].contains($0)
        }
        guard let port, port != 0, let interface, !parts[0].isEmpty, parts[0].utf8.count <= Self.longestHost, isHost,
            isBracketed ? parts[0].contains(":") : true
        else { return nil }
        self.init(host: String(parts[0]), interface: interface, port: port)
    }

    /// Where a device takes links, if nothing else has the port.
    package static let usualPort = Beacon.port
    private static let longestHost = 253

    /// Whether the host is an address, and no name.
    package var isNumeric: Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return host.contains(":") || parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }

    /// The lower, the sooner it is dialled: IPv4, IPv6, and last link-local addresses.
    package var order: Int { Self.isLinkLocal(host) ? 2 : host.contains(":") ? 1 : 0 }

    /// 169.254.0.0/16 (RFC 3927) or fe80::/10.
    private static func isLinkLocal(_ host: String) -> Bool {
        let host = host.lowercased()
        if !host.contains(":") { return host.hasPrefix("169.254.") }
        return ["fe8", "fe9", "fea", "feb"].contains { host.hasPrefix($0) }
    }
}
