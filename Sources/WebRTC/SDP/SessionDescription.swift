/// Text that is no session description.
package struct MalformedSDP: Error, Equatable, CustomStringConvertible {
    /// Counted from 1.
    package let line: Int
    package let reason: String

    package var description: String { "line \(line) of the session description \(reason)" }
}

/// A session description (RFC 8866), as far as offers and answers use it (RFC 9429). Lines without a meaning there,
/// such as `b=` and `t=`, are skipped.
package struct SessionDescription: Equatable, Sendable {
    /// One `a=` line: a name, and the text after the colon if there is one.
    package struct Attribute: Equatable, Sendable {
        package let name: String
        package let value: String?

        package init(_ name: String, _ value: String? = nil) {
            self.name = name
            self.value = value
        }
    }

    /// One `m=` line with the attributes below it.
    package struct Media: Equatable, Sendable {
        /// `video`, `audio`, `application`.
        package var kind: String
        /// 9, the discard port, if only the candidates have the address (RFC 9429 §5.2.1).
        package var port: UInt16 = 9
        /// Such as `UDP/TLS/RTP/SAVPF`.
        package var transport: String
        /// Payload types, or other names of formats.
        package var formats: [String]
        package var attributes: [Attribute] = []
    }

    /// The text of the `o=` line.
    package var origin = ""
    package var attributes: [Attribute] = []
    package var media: [Media] = []
}

extension SessionDescription {
    /// The most media descriptions of an offer. Browsers send one for each track.
    private static let mediaLimit = 64

    package init(parsing text: String) throws(MalformedSDP) {
        self.init()
        var sawVersion = false
        for line in SDPLine.lines(of: text) {
            let content = try line.content()
            switch content.kind {
            case "v":
                guard content.value == "0" else { throw line.malformed("asks for another version than 0") }
                sawVersion = true
            case _ where !sawVersion: throw line.malformed("is not v=0")
            case "o": origin = content.value
            case "m":
                guard media.count < Self.mediaLimit else { throw line.malformed("is one media description too many") }
                media.append(try line.media(content.value))
            case "a" where media.isEmpty: attributes.append(Attribute(parsing: content.value))
            case "a": media[media.count - 1].attributes.append(Attribute(parsing: content.value))
            default: break
            }
        }
        guard sawVersion else { throw MalformedSDP(line: 1, reason: "is not v=0") }
    }
}

extension SessionDescription: CustomStringConvertible {
    /// The text, each line ended by CR LF.
    package var description: String {
        var lines = ["v=0", "o=\(origin)", "s=-", "t=0 0"]
        lines.append(contentsOf: attributes.map { "\($0)" })
        for section in media {
            lines.append(
                "m=\(section.kind) \(section.port) \(section.transport) \(section.formats.joined(separator: " "))"
            )
            lines.append("c=IN IP4 0.0.0.0")
            lines.append(contentsOf: section.attributes.map { "\($0)" })
        }
        return lines.map { $0 + "\r\n" }.joined()
    }
}

extension SessionDescription.Attribute: CustomStringConvertible {
    package init(parsing text: String) {
        guard let colon = text.firstIndex(of: ":") else {
            self.init(text)
            return
        }
        self.init(String(text[..<colon]), String(text[text.index(after: colon)...]))
    }

    /// The line without its end.
    package var description: String { value.map { "a=\(name):\($0)" } ?? "a=\(name)" }
}

extension [SessionDescription.Attribute] {
    func first(_ name: String) -> String? { first { $0.name == name && $0.value != nil }?.value }

    func all(_ name: String) -> [String] { filter { $0.name == name }.compactMap(\.value) }

    func contains(_ name: String) -> Bool { contains { $0.name == name } }
}

/// One line of a description with its place.
struct SDPLine {
    let number: Int
    let text: Substring

    /// All lines that are not empty. They may end with CR LF, as they should, or with LF.
    static func lines(of text: String) -> [SDPLine] {
        text.split(omittingEmptySubsequences: false) { $0.isNewline }.enumerated()
            .filter { !$0.element.isEmpty }
            .map { SDPLine(number: $0.offset + 1, text: $0.element) }
    }

    func malformed(_ reason: String) -> MalformedSDP { MalformedSDP(line: number, reason: reason) }

    /// The letter before the equals sign, and the text after it.
    func content() throws(MalformedSDP) -> (kind: Character, value: String) {
        guard let kind = text.first, kind.isASCII, text.dropFirst().first == "=" else {
            throw malformed("is not a letter and an equals sign")
        }
        return (kind, String(text.dropFirst(2)))
    }

    func media(_ value: String) throws(MalformedSDP) -> SessionDescription.Media {
        let words = value.split(separator: " ").map(String.init)
        // A port may be followed by a slash and a count.
        guard words.count >= 4, let port = words[1].split(separator: "/").first.flatMap({ UInt16(digits: $0) }) else {
            throw malformed("is no media description")
        }
        return SessionDescription.Media(
            kind: words[0],
            port: port,
            transport: words[2],
            formats: Array(words[3...])
        )
    }
}
