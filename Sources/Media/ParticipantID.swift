/// Names a participant of one sender's calls: the number that people see. No number is used again while the sender runs.
package struct ParticipantID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let number: Int

    package init(_ number: Int) { self.number = number }

    package var description: String { "\(number)" }

    package static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}

/// A plain number.
extension ParticipantID: RawRepresentable, Codable {
    package init(rawValue: Int) { number = rawValue }

    package var rawValue: Int { number }
}
