/// Names a participant of one sender's calls: the number that people see. No number is used again while the sender runs.
package struct ParticipantID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let number: Int

    package init(_ number: Int) { self.number = number }

    package var description: String { "\(number)" }

    package static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// A plain number.
extension ParticipantID: Codable {
    package init(from decoder: any Decoder) throws {
        number = try decoder.singleValueContainer().decode(Int.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(number)
    }
}
