/// A JSON value in its original text (RFC 8259). It is passed on byte for byte, and only read where needed.
package struct JSONText: Sendable, Hashable {
    /// UTF-8, without white space around it.
    package let bytes: ArraySlice<UInt8>

    /// The deepest nesting of values.
    package static let depthLimit = 64

    /// Takes a text that is exactly one value; nil for any other.
    package init?(_ text: some Collection<UInt8>) {
        var scanner = JSONScanner(Array(text)[...])
        guard let value = scanner.value(), scanner.isAtEnd else { return nil }
        bytes = value
    }

    fileprivate init(checked bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    package init(string: String) {
        var text: [UInt8] = [UInt8(ascii: "\"")]
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
            case 0..<0x20: text += Array("\\u".utf8) + String(0x1_0000 + Int(byte), radix: 16).utf8.dropFirst()
            default: text.append(byte)
            }
        }
        bytes = (text + [UInt8(ascii: "\"")])[...]
    }

    package init(array elements: [JSONText]) {
        bytes = [UInt8(ascii: "[")] + elements.map(\.bytes).joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
    }

    /// An object of members in their order.
    package init(object members: [(name: String, value: JSONText)]) {
        let pieces = members.map { JSONText(string: $0.name).bytes + [UInt8(ascii: ":")] + $0.value.bytes }
        bytes = [UInt8(ascii: "{")] + pieces.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "}")]
    }

    package init(_ number: Int) { bytes = Array("\(number)".utf8)[...] }

    package var isObject: Bool { bytes.first == UInt8(ascii: "{") }
    package var isNumber: Bool {
        bytes.first.map { $0 == UInt8(ascii: "-") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ?? false
    }

    /// The values of an array; nil for another value.
    package var elements: [JSONText]? {
        var scanner = JSONScanner(bytes)
        return scanner.elements()
    }

    /// The members of an object in their order; nil for another value.
    package var members: [(name: String, value: JSONText)]? {
        var scanner = JSONScanner(bytes)
        return scanner.members()
    }

    /// The value of an object's last member of this name.
    package subscript(name: String) -> JSONText? { members?.last { $0.name == name }?.value }

    /// The characters of a string; nil for another value, or for half a surrogate pair.
    package var string: String? {
        guard bytes.first == UInt8(ascii: "\"") else { return nil }
        return unescaped(bytes.dropFirst().dropLast())
    }

    /// A number without fraction and exponent; nil for another value.
    package var integer: Int? { isNumber ? Int(String(decoding: bytes, as: UTF8.self)) : nil }

    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// The characters of a string without its quotation marks; nil for half a surrogate pair. Not by `JSONDecoder`: it takes
/// several microseconds for each string, and a message of a peer may hold thousands.
private func unescaped(_ escaped: ArraySlice<UInt8>) -> String? {
    guard escaped.contains(UInt8(ascii: "\\")) else { return String(decoding: escaped, as: UTF8.self) }
    // Escapes are units of UTF-16, two for a character beyond the basic plane.
    var units: [UInt16] = []
    var rest = escaped
    while !rest.isEmpty {
        let plain = rest.prefix { $0 != UInt8(ascii: "\\") }
        units += String(decoding: plain, as: UTF8.self).utf16
        rest = rest[plain.endIndex...].dropFirst()
        switch rest.popFirst() {
        case nil: break
        case UInt8(ascii: "b"): units.append(8)
        case UInt8(ascii: "f"): units.append(12)
        case UInt8(ascii: "n"): units.append(10)
        case UInt8(ascii: "r"): units.append(13)
        case UInt8(ascii: "t"): units.append(9)
        case UInt8(ascii: "u"):
            units.append(UInt16(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16) ?? 0)
            rest = rest.dropFirst(4)
        case let escape?: units.append(UInt16(escape))
        }
    }
    return String(validating: units, as: UTF16.self)
}

/// Reads values from the beginning of a text. Text that is not JSON ends it.
private struct JSONScanner {
    private var rest: ArraySlice<UInt8>
    private var depth = 0

    init(_ text: ArraySlice<UInt8>) { rest = text }

    var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return rest.isEmpty
        }
    }

    /// The next value; nil if there is none.
    mutating func value() -> ArraySlice<UInt8>? {
        skipSpace()
        let start = rest
        let isValue =
            switch rest.first {
            case UInt8(ascii: "{"): members() != nil
            case UInt8(ascii: "["): elements() != nil
            case UInt8(ascii: "\""): skipString()
            case UInt8(ascii: "t"): skip("true")
            case UInt8(ascii: "f"): skip("false")
            case UInt8(ascii: "n"): skip("null")
            default: skipNumber()
            }
        return isValue ? start[..<rest.startIndex] : nil
    }

    mutating func elements() -> [JSONText]? {
        var elements: [JSONText] = []
        let isWhole = list(from: "[", to: "]") { scanner in
            guard let value = scanner.value() else { return false }
            elements.append(JSONText(checked: value))
            return true
        }
        return isWhole ? elements : nil
    }

    mutating func members() -> [(name: String, value: JSONText)]? {
        var members: [(name: String, value: JSONText)] = []
        let isWhole = list(from: "{", to: "}") { scanner in
            scanner.skipSpace()
            let start = scanner.rest
            guard scanner.skipString() else { return false }
            let name = JSONText(checked: start[..<scanner.rest.startIndex])
            scanner.skipSpace()
            guard scanner.skip(":"), let value = scanner.value() else { return false }
            members.append((name.string ?? "", JSONText(checked: value)))
            return true
        }
        return isWhole ? members : nil
    }

    private mutating func list(
        from begin: String,
        to end: String,
        _ item: (inout JSONScanner) -> Bool
    ) -> Bool {
        guard skip(begin), depth < JSONText.depthLimit else { return false }
        depth += 1
        defer { depth -= 1 }
        skipSpace()
        if skip(end) { return true }
        repeat {
            guard item(&self) else { return false }
            skipSpace()
        } while skip(",")
        return skip(end)
    }

    private mutating func skip(_ word: String) -> Bool {
        guard rest.starts(with: word.utf8) else { return false }
        rest = rest.dropFirst(word.utf8.count)
        return true
    }

    private mutating func skipSpace() {
        rest = rest.drop { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
    }

    private mutating func skipString() -> Bool {
        guard skip("\"") else { return false }
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"): guard skipEscape() else { return false }
            case 0..<0x20: return false
            default: continue
            }
        }
        return false
    }

    private mutating func skipEscape() -> Bool {
        guard let escape = rest.popFirst() else { return false }
        if "\"\\/bfnrt".utf8.contains(escape) { return true }
        guard escape == UInt8(ascii: "u"), rest.count >= 4,
            rest.prefix(4).allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
        else {
            return false
        }
        rest = rest.dropFirst(4)
        return true
    }

    private mutating func skipNumber() -> Bool {
        _ = skip("-")
        if !skip("0"), !skipDigits() { return false }
        if skip("."), !skipDigits() { return false }
        if skip("e") || skip("E") {
            if !skip("+") { _ = skip("-") }
            return skipDigits()
        }
        return true
    }

    private mutating func skipDigits() -> Bool {
        let digits = rest.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        rest = rest[digits.endIndex...]
        return !digits.isEmpty
    }
}
