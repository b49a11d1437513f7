/// A link of a response's `Link` fields (RFC 8288 §3).
package struct LinkHeader: Equatable, Sendable {
    package struct Parameter: Equatable, Sendable {
        /// In lower case.
        package let name: String
        /// Empty if there is none.
        package let value: String
    }

    /// The most bytes of a field that are read, the most links of a response, and the most parameters of a link.
    package static let (longestField, mostLinks, mostParameters) = (16_384, 32, 16)

    /// The target: a URI, or a reference.
    package let target: String
    package let parameters: [Parameter]

    /// The links of a response, without malformed ones.
    ///
    /// - Parameter fields: the values of all its `Link` fields.
    package static func links(in fields: [String]) -> [LinkHeader] {
        Array(fields.lazy.flatMap { Self.links(in: $0) }.prefix(mostLinks))
    }

    private static func links(in field: String) -> [LinkHeader] {
        var rest = FieldReader(bytes: field.utf8.prefix(longestField))
        var links: [LinkHeader] = []
        while links.count < mostLinks {
            rest.skip { $0.isBlank || $0 == UInt8(ascii: ",") }
            guard !rest.isAtEnd else { break }
            if let link = LinkHeader(reading: &rest) { links.append(link) }
            // Up to the next comma, only text after a semicolon has a meaning.
            rest.skip { $0 != UInt8(ascii: ",") }
        }
        return links
    }

    private init?(reading rest: inout FieldReader) {
        if rest.take(UInt8(ascii: "<")) {
            target = rest.text { $0 != UInt8(ascii: ">") }
            guard rest.take(UInt8(ascii: ">")) else { return nil }
        } else {
            // Some servers leave the brackets out.
            target = rest.text { !$0.isBlank && !",;<>".utf8.contains($0) }
        }
        var parameters: [Parameter] = []
        while true {
            rest.skip(\.isBlank)
            guard rest.take(UInt8(ascii: ";")) else { break }
            rest.skip(\.isBlank)
            let name = rest.text { $0.isTokenByte }.lowercased()
            rest.skip(\.isBlank)
            let value = rest.take(UInt8(ascii: "=")) ? rest.value() : ""
            if !name.isEmpty, parameters.count < Self.mostParameters {
                parameters.append(Parameter(name: name, value: value))
            }
        }
        self.parameters = parameters
        if target.isEmpty { return nil }
    }

    /// The value of the first parameter of a name; nil if there is none.
    ///
    /// - Parameter name: in lower case.
    package subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// Whether it has a relation type, such as `ice-server` (§3.3).
    package func hasRelation(_ relation: String) -> Bool {
        self["rel"]?.lowercased().split(whereSeparator: \.isWhitespace).contains { $0 == relation } ?? false
    }
}

private struct FieldReader {
    var bytes: Substring.UTF8View

    var isAtEnd: Bool { bytes.isEmpty }

    mutating func take(_ byte: UInt8) -> Bool {
        guard bytes.first == byte else { return false }
        bytes.removeFirst()
        return true
    }

    mutating func skip(_ condition: (UInt8) -> Bool) { bytes = bytes.drop(while: condition) }

    mutating func text(_ condition: (UInt8) -> Bool) -> String {
        let taken = bytes.prefix(while: condition)
        bytes = bytes[taken.endIndex...]
        return String(decoding: taken, as: UTF8.self)
    }

    /// A token, or a quoted string with its escapes undone (RFC 9110 §5.6.4).
    mutating func value() -> String {
        skip(\.isBlank)
        guard take(UInt8(ascii: "\"")) else { return text { !$0.isBlank && !",;".utf8.contains($0) } }
        var value: [UInt8] = []
        while let byte = bytes.popFirst(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\"), let escaped = bytes.popFirst() {
                value.append(escaped)
            } else {
                value.append(byte)
            }
        }
        return String(decoding: value, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// RFC 9110 §5.6.2.
    fileprivate var isTokenByte: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(self)
        }
    }
}
