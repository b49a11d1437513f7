import NIOCore

/// Where a client is.
struct ClientAddress: Sendable, CustomStringConvertible {
    /// In numbers; an IPv4 address as such, though the socket is one for both families.
    let description: String

    init(_ description: String) { self.description = description }

    init(_ address: SocketAddress?) {
        let numbers = address?.ipAddress ?? ""
        description = numbers.hasPrefix("::ffff:") ? String(numbers.dropFirst("::ffff:".count)) : numbers
    }

    /// Who has one IPv6 address has at least the 2⁶⁴ of its network.
    var network: String {
        guard description.contains(":") else { return description }
        let head = description.prefix { $0 != "%" }.split(separator: ":", omittingEmptySubsequences: false)
        // Before a double colon stands all that is not zero.
        return head.prefix(4).prefix { !$0.isEmpty }.joined(separator: ":") + "::/64"
    }
}
