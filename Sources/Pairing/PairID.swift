import Sodium

/// A pair of two devices, on both sides: the first 16 bytes of a hash of its secret. So nobody else can claim it, and devices that several
/// know have no name in common by which these could compare notes.
package struct PairID: Hashable, Sendable, CustomStringConvertible {
    package static let length = 16

    package let bytes: [UInt8]

    /// - Parameter secret: of the pair.
    package init(secret: [UInt8]) { bytes = Array(Hash.hmacSHA256(key: secret, Array("id".utf8)).prefix(Self.length)) }

    /// - Returns: nil for another length.
    package init?(bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
        if self.bytes.count != Self.length { return nil }
    }

    /// Hexadecimal digits.
    package var description: String { bytes.hexadecimal }

    /// - Returns: nil for no identity.
    package init?(_ text: String) {
        guard let bytes = [UInt8](hexadecimal: text) else { return nil }
        self.init(bytes: bytes)
    }
}

extension [UInt8] {
    package var hexadecimal: String {
        let digits = Array<UInt8>("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// - Returns: nil for an odd number of digits, and other characters.
    package init?(hexadecimal text: String) {
        guard text.utf8.count.isMultiple(of: 2) else { return nil }
        self.init()
        reserveCapacity(text.utf8.count / 2)
        var high: UInt8?
        for digit in text.utf8 {
            guard let value = Character(UnicodeScalar(digit)).hexDigitValue.map(UInt8.init) else { return nil }
            if let first = high {
                append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
    }
}
