import JSON

/// A command about what all see: a JSON object with one key, such as `{"viewport":[0,0,640,360]}`. The command line, HTTP and
/// the page say it alike.
package enum ViewCommand: Equatable, Sendable {
    /// Shows a part of the source; nil for the whole.
    case viewport(Viewport?)
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

extension ViewCommand: Codable {
    private enum CodingKeys: String, CodingKey { case viewport }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard container.contains(.viewport) else {
            let context = DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "no command")
            throw DecodingError.keyNotFound(CodingKeys.viewport, context)
        }
        guard let edges = try container.decodeIfPresent([Int].self, forKey: .viewport) else {
            self = .viewport(nil)
            return
        }
        guard let viewport = Viewport(edges) else {
            throw DecodingError.dataCorruptedError(forKey: .viewport, in: container, debugDescription: "no viewport")
        }
        self = .viewport(viewport)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .viewport(let viewport): try container.encode(viewport?.edges, forKey: .viewport)
        }
    }

    /// For people: what a command must be.
    package static var form: String {
        let (width, height) = Viewport.least
        return
            "a command is {\"viewport\": [x1, y1, x2, y2]} in pixels of the source, at least \(width) wide and \(height) high, or "
            + "{\"viewport\": null}"
    }
}
