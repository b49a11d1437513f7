/// A message of STUN (RFC 8489 §5) or TURN (RFC 8656 §18), for clients of both.
package struct STUNMessage: Equatable, Sendable {
    package enum Method: UInt16, Sendable {
        case binding = 1
        /// RFC 8656 §17.
        case allocate = 3, refresh = 4
    }

    package enum Class: UInt16, Sendable {
        case request, indication, success, error
    }

    static let headerSize = 20
    static let magicCookie: [UInt8] = [0x21, 0x12, 0xA4, 0x42]

    package var method: Method
    package var kind: Class
    /// Tells the responses to a request from all others: 12 bytes.
    package var transaction: [UInt8]
    /// The attributes before MESSAGE-INTEGRITY, if the message has it; never that one or FINGERPRINT.
    package var attributes: [STUNAttribute]

    package init(
        _ kind: Class,
        _ method: Method,
        _ attributes: [STUNAttribute] = [],
        transaction: [UInt8] = (0..<12).map { _ in .random(in: 0...255) }
    ) {
        (self.kind, self.method, self.transaction, self.attributes) = (kind, method, transaction, attributes)
    }
}

// MARK: - Reading

extension STUNMessage {
    /// The size of the message at the beginning of a stream (RFC 8489 §6.2.2).
    ///
    /// - Returns: nil until the size is known; 0 if it is no message of STUN.
    package static func size(beginning bytes: some Collection<UInt8>) -> Int? {
        let header = Array(bytes.prefix(8))
        if let first = header.first, first & 0xC0 != 0 { return 0 }
        guard header.count == 8 else { return nil }
        let length = Int(header[2]) << 8 | Int(header[3])
        return header[4...].elementsEqual(magicCookie) && length % 4 == 0 ? headerSize + length : 0
    }

    /// - Parameter bytes: exactly the whole message.
    /// - Returns: nil if it is no message of STUN, of another method, or its FINGERPRINT is wrong.
    package init?(parsing bytes: [UInt8]) {
        guard bytes.count >= Self.headerSize, Self.size(beginning: bytes) == bytes.count else { return nil }
        let type = UInt16(bytes[0]) << 8 | UInt16(bytes[1])
        // Two bits of the class lie between those of the method (§5).
        guard let kind = Class(rawValue: type >> 4 & 1 | type >> 7 & 2), let method = Method(rawValue: type & ~0x110)
        else { return nil }
        self.init(kind, method, transaction: Array(bytes[8..<Self.headerSize]))
        var isCovered = true
        guard let fields = STUNField.all(in: bytes) else { return nil }
        for field in fields {
            switch field.type {
            case STUNField.fingerprint:
                guard field.end == bytes.count, field.value(in: bytes) == Self.fingerprint(of: bytes[..<field.start])
                else { return nil }
            case STUNField.integrity: isCovered = false
            // Anybody may have added the rest (§14.5).
            case _ where isCovered:
                attributes.append(STUNAttribute(type: field.type, value: field.value(in: bytes)))
            default: break
            }
        }
    }

    /// Whether a message has a MESSAGE-INTEGRITY that was made with this key (§14.5).
    package static func isAuthentic(_ bytes: [UInt8], key: [UInt8]) -> Bool {
        guard let field = STUNField.all(in: bytes)?.first(where: { $0.type == STUNField.integrity }) else {
            return false
        }
        let covered = lengthened(Array(bytes[..<field.start]), by: STUNField.integritySize)
        return field.value(in: bytes) == hmacSHA1(of: covered, key: key)
    }

    /// The error code of a response, 300…699, and the server's words for it; nil if it has none.
    package var error: (code: Int, reason: [UInt8])? {
        let found = attributes.first { attribute in
            let value = attribute.value
            return attribute.type == STUNAttribute.errorCodeType && value.count >= 4 && 3...6 ~= value[2]
                && value[3] < 100
        }
        return found.map { (Int($0.value[2]) * 100 + Int($0.value[3]), Array($0.value[4...])) }
    }
}

// MARK: - Writing

extension STUNMessage {
    /// The message's bytes.
    ///
    /// - Parameters:
    ///   - key: of a MESSAGE-INTEGRITY (§9); nil for none.
    ///   - hasFingerprint: whether a FINGERPRINT tells it from media, as checks of ICE need (RFC 8445 §7.1).
    package func encoded(key: [UInt8]? = nil, hasFingerprint: Bool = false) -> [UInt8] {
        let type = method.rawValue | (kind.rawValue & 1) << 4 | (kind.rawValue & 2) << 7
        var bytes = [UInt8(type >> 8), UInt8(type & 0xFF), 0, 0] + Self.magicCookie + transaction
        for attribute in attributes { STUNField.append(attribute.type, attribute.value, to: &bytes) }
        bytes = Self.lengthened(bytes, by: 0)
        if let key {
            bytes = Self.lengthened(bytes, by: STUNField.integritySize)
            STUNField.append(STUNField.integrity, hmacSHA1(of: bytes, key: key), to: &bytes)
        }
        if hasFingerprint {
            bytes = Self.lengthened(bytes, by: STUNField.fingerprintSize)
            STUNField.append(STUNField.fingerprint, Self.fingerprint(of: bytes[...]), to: &bytes)
        }
        return bytes
    }

    /// The beginning of a message, with `count` further bytes in the length of its header.
    private static func lengthened(_ bytes: [UInt8], by count: Int) -> [UInt8] {
        let length = bytes.count - headerSize + count
        precondition(length <= Int(UInt16.max))
        var bytes = bytes
        (bytes[2], bytes[3]) = (UInt8(length >> 8), UInt8(length & 0xFF))
        return bytes
    }

    /// The CRC-32 of all bytes before it, with itself in the message's length (RFC 8489 §14.7).
    private static func fingerprint(of bytes: ArraySlice<UInt8>) -> [UInt8] {
        var remainder = UInt32.max
        for byte in bytes {
            remainder ^= UInt32(byte)
            for _ in 0..<8 { remainder = remainder & 1 == 0 ? remainder >> 1 : remainder >> 1 ^ 0xEDB8_8320 }
        }
        let code = ~remainder ^ 0x5354_554E
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: code >> $0) }
    }
}

/// The place of an attribute in a message, and its frame (RFC 8489 §14): type, length, value, and padding to a multiple
/// of four bytes.
struct STUNField {
    static let integrity: UInt16 = 0x0008
    static let fingerprint: UInt16 = 0x8028
    /// With its header.
    static let integritySize = 24
    static let fingerprintSize = 8
    private static let headerSize = 4

    let type: UInt16
    /// The offsets of its header, and of the end of its padding.
    let (start, end): (Int, Int)
    private let length: Int

    func value(in bytes: [UInt8]) -> [UInt8] {
        Array(bytes[start + Self.headerSize..<start + Self.headerSize + length])
    }

    /// The fields of a message; nil if the last one is truncated.
    static func all(in bytes: [UInt8]) -> [STUNField]? {
        var fields: [STUNField] = []
        var start = STUNMessage.headerSize
        while start < bytes.count {
            guard start + headerSize <= bytes.count else { return nil }
            let type = UInt16(bytes[start]) << 8 | UInt16(bytes[start + 1])
            let length = Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])
            let end = start + headerSize + (length + 3) / 4 * 4
            guard end <= bytes.count else { return nil }
            fields.append(STUNField(type: type, start: start, end: end, length: length))
            start = end
        }
        return fields
    }

    static func append(_ type: UInt16, _ value: [UInt8], to bytes: inout [UInt8]) {
        bytes += [UInt8(type >> 8), UInt8(type & 0xFF), UInt8(value.count >> 8), UInt8(value.count & 0xFF)] + value
        while bytes.count % 4 != 0 { bytes.append(0) }
    }
}
