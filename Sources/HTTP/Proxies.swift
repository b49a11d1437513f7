package import Posix

/// The addresses of trusted web proxies.
extension [AddressRange] {
    func contains(_ address: ClientAddress) -> Bool {
        IPAddress(parsing: address.description).map { address in contains { $0.contains(address) } } ?? false
    }

    /// The client of a request. Each proxy appends the address of its own client to `X-Forwarded-For`. So the client is
    /// the last address of that list that is not a proxy. The client itself may have written the ones before.
    package func client(of peer: ClientAddress, forwardedFor fields: [String]) -> ClientAddress {
        var client = peer
        var named = fields.joined(separator: ",").split(separator: ",")[...]
        while contains(client), let last = named.popLast() {
            guard let address = IPAddress(forwarded: last.filter { !$0.isWhitespace }) else { break }
            client = ClientAddress(address.description)
        }
        return client
    }
}

/// An address, or the network of all addresses with the same beginning: `192.0.2.1`, `10.0.0.0/8`, `fd00::/8`.
package struct AddressRange: Equatable, Sendable, CustomStringConvertible {
    package let description: String
    private let address: IPAddress
    /// The number of bits that all addresses of the network have in common.
    private let length: Int

    package init?(parsing text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(parsing: parts[0]), !text.contains("%") else { return nil }
        let all = address.bytes.count * 8
        length = parts.count == 1 ? all : parts[1].utf8.allSatisfy { 0x30...0x39 ~= $0 } ? Int(parts[1]) ?? -1 : -1
        guard 0...all ~= length else { return nil }
        self.address = address
        description = text
    }

    func contains(_ other: IPAddress) -> Bool {
        guard other.bytes.count == address.bytes.count else { return false }
        return zip(address.bytes, other.bytes).enumerated().allSatisfy { index, pair in
            let bits = min(max(length - index * 8, 0), 8)
            return (pair.0 ^ pair.1) >> (8 - bits) == 0
        }
    }
}

extension IPAddress {
    /// An element of `X-Forwarded-For`. Some proxies add the port.
    init?(forwarded text: some StringProtocol) {
        if let address = Self(parsing: text) {
            self = address
            return
        }
        guard let authority = WebAuthority(parsing: text) else { return nil }
        self.init(parsing: authority.host)
    }
}
