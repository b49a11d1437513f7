import Glibc

/// An IPv4 or IPv6 address. An IPv4 address within IPv6 (RFC 4291 §2.5.5.2) counts as the IPv4 address.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    private static let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    /// 4 or 16 bytes, in network order.
    package let bytes: [UInt8]

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes.starts(with: Self.mapped) ? Array(bytes.dropFirst(Self.mapped.count)) : bytes
    }

    /// An address in numbers; a zone (RFC 4007 §11) is skipped.
    package init?(parsing text: some StringProtocol) {
        let numbers = String(text.prefix { $0 != "%" })
        guard numbers.utf8.count < INET6_ADDRSTRLEN, !numbers.utf8.contains(0) else { return nil }
        let isIPv6 = numbers.contains(":")
        var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        guard inet_pton(isIPv6 ? AF_INET6 : AF_INET, numbers, &bytes) == 1 else { return nil }
        self.init(bytes)
    }

    package var description: String { Self.text(bytes) }

    /// - Parameter bytes: 4 or 16, in network order.
    static func text(_ bytes: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(bytes.count == 16 ? AF_INET6 : AF_INET, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
