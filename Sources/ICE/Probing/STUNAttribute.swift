/// An attribute of a STUN message (RFC 8489 §14, RFC 8656 §18).
package enum STUNAttribute: Equatable, Sendable {
    /// 508 bytes at the most.
    case username([UInt8])
    /// The realm of a server's keys, and the nonce that it wants back: 763 bytes at the most.
    case realm([UInt8])
    case nonce([UInt8])
    /// 300…699, with a reason.
    case errorCode(Int, reason: [UInt8])
    /// The client's address as the server sees it, and the relayed address.
    case mappedAddress(STUNAddress)
    case relayedAddress(STUNAddress)
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
    private static let (mappedType, relayedType): (UInt16, UInt16) = (0x0020, 0x0016)
    private static let (lifetimeType, transportType): (UInt16, UInt16) = (0x000D, 0x0019)

    var type: UInt16 {
        switch self {
        case .username: Self.usernameType
        case .realm: Self.realmType
        case .nonce: Self.nonceType
        case .errorCode: Self.errorCodeType
        case .mappedAddress: Self.mappedType
        case .relayedAddress: Self.relayedType
        case .lifetime: Self.lifetimeType
        case .requestedTransport: Self.transportType
        case .other(let type, _): type
        }
    }

    /// The value's bytes in the message of a transaction. Addresses are mixed with its identifier.
    func value(in transaction: STUNMessage.TransactionID) -> [UInt8] {
        switch self {
        case .username(let bytes), .realm(let bytes), .nonce(let bytes), .other(_, let bytes): bytes
        case .errorCode(let code, let reason): [0, 0, UInt8(code / 100), UInt8(code % 100)] + reason
        case .mappedAddress(let address), .relayedAddress(let address): address.mixed(with: transaction)
        case .lifetime(let seconds): [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: seconds >> $0) }
        case .requestedTransport(let number): [number, 0, 0, 0]
        }
    }

    init(_ type: UInt16, _ value: [UInt8], in transaction: STUNMessage.TransactionID) {
        self = Self.known(type, value, in: transaction) ?? .other(type, value)
    }

    private static func known(_ type: UInt16, _ value: [UInt8], in transaction: STUNMessage.TransactionID) -> Self? {
        switch type {
        case usernameType where value.count <= usernameLimit: .username(value)
        case realmType where value.count <= textLimit: .realm(value)
        case nonceType where value.count <= textLimit: .nonce(value)
        case errorCodeType where value.count >= 4 && 3...6 ~= value[2] && value[3] < 100:
            .errorCode(Int(value[2]) * 100 + Int(value[3]), reason: Array(value[4...]))
        case mappedType: STUNAddress(value, mixedWith: transaction).map { .mappedAddress($0) }
        case relayedType: STUNAddress(value, mixedWith: transaction).map { .relayedAddress($0) }
        case lifetimeType where value.count == 4: .lifetime(value.reduce(0) { $0 << 8 | UInt32($1) })
        case transportType where value.count == 4: .requestedTransport(value[0])
        default: nil
        }
    }
}

/// An address with a port, as in STUN.
package struct STUNAddress: Equatable, Sendable {
    /// 4 or 16 of them, in network order.
    package let bytes: [UInt8]
    package let port: UInt16

    /// - Parameter bytes: 4 or 16 of them, in network order.
    package init(_ bytes: [UInt8], port: UInt16) {
        precondition([4, 16].contains(bytes.count))
        (self.bytes, self.port) = (bytes, port)
    }

    /// - Parameter value: of an XOR-MAPPED-ADDRESS (RFC 8489 §14.2).
    fileprivate init?(_ value: [UInt8], mixedWith transaction: STUNMessage.TransactionID) {
        guard value.count >= 4, value.count == [1: 8, 2: 20][value[1]] else { return nil }
        let plain = Self.mix(Array(value[2...]), with: transaction)
        self.init(Array(plain[2...]), port: UInt16(plain[0]) << 8 | UInt16(plain[1]))
    }

    fileprivate func mixed(with transaction: STUNMessage.TransactionID) -> [UInt8] {
        [0, bytes.count == 4 ? 1 : 2] + Self.mix([UInt8(port >> 8), UInt8(port & 0xFF)] + bytes, with: transaction)
    }

    /// The bytes of a port and an address.
    private static func mix(_ bytes: [UInt8], with transaction: STUNMessage.TransactionID) -> [UInt8] {
        let mask = STUNMessage.magicCookie.prefix(2) + STUNMessage.magicCookie + transaction.bytes
        return zip(bytes, mask).map { $0 ^ $1 }
    }
}
