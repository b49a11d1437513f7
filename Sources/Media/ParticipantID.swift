/// Names a participant of one sender's calls: the number that people see. No number is used again while the sender runs.
package struct ParticipantID: RawRepresentable, Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
    package let number: Int

    package init(_ number: Int) { self.number = number }
    package init(rawValue: Int) { number = rawValue }

    package var rawValue: Int { number }
    package var description: String { "\(number)" }

    package static func < (a: Self, b: Self) -> Bool { a.number < b.number }
}
