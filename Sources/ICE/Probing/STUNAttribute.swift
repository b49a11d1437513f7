/// An attribute of a STUN message (RFC 8489 §14, RFC 8656 §18).
package enum STUNAttribute: Equatable, Sendable {
    /// 508 bytes at the most.
    case username([UInt8])
    /// The realm of a server's keys, and the nonce that it wants back: 763 bytes at the most.
    case realm([UInt8])
    case nonce([UInt8])
    /// 300…699, with a reason.
    case errorCode(Int, reason: [UInt8])
    /// Of an allocation, in seconds.
    case lifetime(UInt32)
    /// The number of the protocol between relay and peers.
    case requestedTransport(UInt8)
    /// Any other attribute, and one with an invalid value.
    case other(UInt16, [UInt8])

    /// The longest USERNAME, REALM and NONCE.
    package static let (usernameLimit, textLimit) = (508, 763)
    /// UDP, by its number.
    package static let udp = STUNAttribute.requestedTransport(17)

    private static let (usernameType, errorCodeType): (UInt16, UInt16) = (0x0006, 0x0009)
    private static let (realmType, nonceType): (UInt16, UInt16) = (0x0014, 0x0015)
    private static let (lifetimeType, transportType): (UInt16, UInt16) = (0x000D, 0x0019)

    var type: UInt16 {
        switch self {
        case .username: Self.usernameType
        case .realm: Self.realmType
        case .nonce: Self.nonceType
        case .errorCode: Self.errorCodeType
        case .lifetime: Self.lifetimeType
        case .requestedTransport: Self.transportType
        case .other(let type, _): type
        }
    }

    var value: [UInt8] {
        switch self {
        case .username(let bytes), .realm(let bytes), .nonce(let bytes), .other(_, let bytes): bytes
        case .errorCode(let code, let reason): [0, 0, UInt8(code / 100), UInt8(code % 100)] + reason
        case .lifetime(let seconds): [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: seconds >> $0) }
        case .requestedTransport(let number): [number, 0, 0, 0]
        }
    }

    init(_ type: UInt16, _ value: [UInt8]) {
        self =
            switch type {
            case Self.usernameType where value.count <= Self.usernameLimit: .username(value)
            case Self.realmType where value.count <= Self.textLimit: .realm(value)
            case Self.nonceType where value.count <= Self.textLimit: .nonce(value)
            case Self.errorCodeType where value.count >= 4 && 3...6 ~= value[2] && value[3] < 100:
                .errorCode(Int(value[2]) * 100 + Int(value[3]), reason: Array(value[4...]))
            case Self.lifetimeType where value.count == 4: .lifetime(value.reduce(0) { $0 << 8 | UInt32($1) })
            case Self.transportType where value.count == 4: .requestedTransport(value[0])
            default: .other(type, value)
            }
    }
}
