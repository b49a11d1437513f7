import JSON
package import Media

/// A command that viewers with the right to control may give, and the person who shares: a JSON object with one key, such
/// as `{"viewport":[0,0,640,360]}`. The command line, HTTP and the page say it alike.
package enum ViewerCommand: Equatable, Sendable {
    /// Shows a part of the source to all; nil for the whole.
    case viewport(Viewport?)
    /// Brightens dark pictures for all.
    case legibility(Legibility)
    /// Shows another source to all, by its name; `next` for the one after this.
    case source(String)
    /// A ring on the screen of the person who shares.
    case highlight(Highlight)
    /// A line for the person who shares.
    case message(MessageText)
    /// For a program of the person who shares.
    case service(ServiceMessage)
    /// A frame on the screen around what is shared.
    case statusFrame(StatusFrame)
    case chime(Chime)

    /// What the command is about, as it is called in JSON.
    package enum Kind: String, Codable, CaseIterable, Sendable {
        case viewport, legibility, source, highlight, message, service, chime
        case statusFrame = "status_frame"
    }

    package var kind: Kind {
        switch self {
        case .viewport: .viewport
        case .legibility: .legibility
        case .source: .source
        case .highlight: .highlight
        case .message: .message
        case .service: .service
        case .statusFrame: .statusFrame
        case .chime: .chime
        }
    }
}

/// A part of the source, in its pixels: columns `x1..<x2`, and rows alike.
package struct Viewport: Equatable, Sendable, CustomStringConvertible {
    /// The fewest columns and rows.
    package static let least = (width: 64, height: 36)
    /// Even at both ends, as odd edges are moved outwards.
    private static let coordinates = 0...65_534

    package let x1: Int
    package let y1: Int
    package let x2: Int
    package let y2: Int

    /// - Parameter edges: x1, y1, x2 and y2.
    /// - Returns: nil for other numbers, an empty or inverted part, and one that is too small.
    package init?(_ edges: [Int]) {
        guard edges.count == 4, edges.allSatisfy({ Self.coordinates ~= $0 }) else { return nil }
        (x1, y1, x2, y2) = (edges[0], edges[1], edges[2], edges[3])
        if x2 - x1 < Self.least.width || y2 - y1 < Self.least.height { return nil }
    }

    package var edges: [Int] { [x1, y1, x2, y2] }

    package var description: String { edges.map { "\($0)" }.joined(separator: ",") }
}

/// A part of the source to point at, in its pixels, for a time.
package struct Highlight: Equatable, Sendable, CustomStringConvertible {
    /// Milliseconds.
    package static let times = 100...10_000
    package static let usualTime = 1500
    private static let coordinates = 0...65_535

    package let x: Int
    package let y: Int
    package let width: Int
    package let height: Int
    /// One of `times`.
    package let milliseconds: Int

    /// - Parameter numbers: x, y, width, height, and the milliseconds if they are not the usual ones.
    /// - Returns: nil for other numbers, and an empty part.
    package init?(_ numbers: [Int]) {
        guard 4...5 ~= numbers.count, numbers.allSatisfy({ Self.coordinates ~= $0 }) else { return nil }
        (x, y, width, height) = (numbers[0], numbers[1], numbers[2], numbers[3])
        milliseconds = numbers.count == 5 ? numbers[4] : Self.usualTime
        if width == 0 || height == 0 || !(Self.times ~= milliseconds) { return nil }
    }

    package var numbers: [Int] { [x, y, width, height, milliseconds] }

    /// The part.
    package var description: String { "\(x),\(y),\(width),\(height)" }
}

/// A line of text from somebody: not empty, and nothing in it is obeyed by a terminal.
package struct MessageText: Equatable, Sendable, CustomStringConvertible {
    /// Characters, as people count them.
    package static let mostCharacters = 500

    package let description: String

    /// - Returns: nil for another text.
    package init?(_ text: String) {
        guard text.utf8.count <= 4 * Self.mostCharacters, 1...Self.mostCharacters ~= text.count,
            text.contains(where: { !$0.isWhitespace }), !text.unicodeScalars.contains(where: \.isControl)
        else { return nil }
        description = text
    }
}

/// A message for a program of the person who shares: a word, and parameters by their names.
package struct ServiceMessage: Equatable, Sendable {
    package static let mostParameters = 16
    private static let nameLengths = 1...48
    private static let letters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._".utf8)

    package let text: String
    package let parameters: [String: String]

    /// Names are of letters, digits, dots, underscores, and hyphens that do not begin them.
    ///
    /// - Returns: nil for other names, and for values that are no line of text.
    package init?(_ text: String, _ parameters: [String: String]) {
        guard Self.isName(text), parameters.count <= Self.mostParameters,
            parameters.allSatisfy({ Self.isName($0.key) && ($0.value.isEmpty || MessageText($0.value) != nil) })
        else { return nil }
        (self.text, self.parameters) = (text, parameters)
    }

    private static func isName(_ text: String) -> Bool {
        guard nameLengths ~= text.utf8.count, let first = text.utf8.first, letters.contains(first) else { return false }
        return text.utf8.allSatisfy { letters.contains($0) || $0 == UInt8(ascii: "-") }
    }
}

/// An installed sound, played to the person who shares. Sounds have the numbers 1 to 255.
package enum Chime: Equatable, Sendable, CustomStringConvertible {
    package static let numbers = 1...255

    case play(Int)
    /// Plays it from now on when somebody asks to look in; nil for none.
    case select(Int?)

    package var description: String {
        switch self {
        case .play(let number): "play \(number)"
        case .select(let number): "select \(number ?? 0)"
        }
    }
}
