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

    /// The lower, the sooner it is dialled: IPv4, IPv6, and last link-local addresses.
    package var order: Int { Self.isLinkLocal(host) ? 2 : host.contains(":") ? 1 : 0 }

    /// 169.254.0.0/16 (RFC 3927) or fe80::/10.
    private static func isLinkLocal(_ host: String) -> Bool {
        let host = host.lowercased()
        if !host.contains(":") { return host.hasPrefix("169.254.") }
        return ["fe8", "fe9", "fea", "feb"].contains { host.hasPrefix($0) }
    }
}
