import Glibc

/// An IPv4 or IPv6 address. An IPv4 address within IPv6 (RFC 4291 §2.5.5.2) counts as the IPv4 address.
struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    private static let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    /// 4 or 16 bytes, in network order.
    let bytes: [UInt8]

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes.starts(with: Self.mapped) ? Array(bytes.dropFirst(Self.mapped.count)) : bytes
    }

    /// An address in numbers; a zone (RFC 4007 §11) is skipped.
    init?(parsing text: some StringProtocol) {
        let numbers = String(text.prefix { $0 != "%" })
        guard numbers.utf8.count < INET6_ADDRSTRLEN, !numbers.utf8.contains(0) else { return nil }
        let isIPv6 = numbers.contains(":")
        var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        guard inet_pton(isIPv6 ? AF_INET6 : AF_INET, numbers, &bytes) == 1 else { return nil }
        self.init(bytes)
    }

    /// An element of `X-Forwarded-For`, to which some proxies add the port.
    init?(forwarded text: some StringProtocol) {
        if let address = Self(parsing: text) {
            self = address
            return
        }
        guard let authority = WebAuthority(parsing: text) else { return nil }
        self.init(parsing: authority.host)
    }

    var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(bytes.count == 16 ? AF_INET6 : AF_INET, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// An address, or the network of all addresses that begin as it does: `192.0.2.1`, `10.0.0.0/8`, `fd00::/8`.
package struct AddressRange: Equatable, Sendable, CustomStringConvertible {
    /// The text that was parsed.
    package let description: String
    private let address: IPAddress
    /// How many bits all addresses of the network have in common.
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
