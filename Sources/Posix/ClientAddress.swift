package struct ClientAddress: Sendable, CustomStringConvertible {
    /// The address in numbers. An IPv4 address is printed as one, though the socket serves both families.
    package let description: String

    package init(_ description: String) { self.description = description }

    /// The network of the address: an IPv4 address, or the first 64 bits of an IPv6 address. A client with one such
    /// address has at least all 2⁶⁴ of its network.
    package var network: String {
        guard let address = IPAddress(parsing: description) else { return description }
        guard address.bytes.count == 16 else { return address.description }
        return address.bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: " ")
    }
}
