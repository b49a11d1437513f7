/// Percent escapes of URLs (RFC 3986 §2.1).
extension String {
    /// Nil if an escape is incomplete, or the result is not UTF-8.
    package init?(percentDecoding text: some StringProtocol) {
        var bytes: [UInt8] = []
        var rest = Substring(text).utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            guard digits.utf8.count == 2, !digits.hasPrefix("+"), let value = UInt8(digits, radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        self.init(validating: bytes, as: UTF8.self)
    }

    /// All characters but the unreserved ones are escaped (§2.3).
    package var percentEncoded: String {
        let digits = Array("0123456789ABCDEF")
        return utf8.reduce(into: "") { text, byte in
            let character = Character(Unicode.Scalar(byte))
            if byte < 0x80, character.isLetter || character.isNumber || "-._~".contains(character) {
                text.append(character)
            } else {
                text += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }
}
