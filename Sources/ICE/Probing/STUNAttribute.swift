/// An attribute of a STUN message (RFC 8489 §14, RFC 8656 §18).
package struct STUNAttribute: Equatable, Sendable {
    package let type: UInt16
    package let value: [UInt8]

    package init(type: UInt16, value: [UInt8]) { (self.type, self.value) = (type, value) }

    /// The longest USERNAME, REALM and NONCE, in bytes.
    package static let (usernameLimit, textLimit) = (508, 763)
    static let (realmType, nonceType, errorCodeType): (UInt16, UInt16, UInt16) = (0x0014, 0x0015, 0x0009)

    package static func username(_ bytes: [UInt8]) -> Self { Self(type: 0x0006, value: bytes) }
    /// The realm of a server's keys, and the nonce that it wants back.
    package static func realm(_ bytes: [UInt8]) -> Self { Self(type: realmType, value: bytes) }
    package static func nonce(_ bytes: [UInt8]) -> Self { Self(type: nonceType, value: bytes) }
    /// Of an allocation, in seconds.
    package static func lifetime(_ seconds: UInt32) -> Self {
        Self(type: 0x000D, value: bytes(of: UInt64(seconds), 4))
    }
    /// Of the candidate that a check would make known, and the side that does not nominate (RFC 8445 §7.1).
    package static func priority(_ priority: UInt32) -> Self {
        Self(type: 0x0024, value: bytes(of: UInt64(priority), 4))
    }
    package static func controlled(tieBreaker: UInt64) -> Self { Self(type: 0x8029, value: bytes(of: tieBreaker, 8)) }

    private static func bytes(of number: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    /// The protocol between relay and peers: UDP, by its number.
    package static let udp = Self(type: 0x0019, value: [17, 0, 0, 0])
}
