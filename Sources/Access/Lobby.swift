import Posix
package import Time

/// A request to be let in, in the knocker's own words.
package struct Knocker: Sendable, Equatable {
    package var name: String
    package var note: String
    /// Identifies the knocker later; nil if nothing does.
    package var key: GuestKey?
    /// Of a viewer, in numbers; or "room tea".
    package var address: String
    /// The call that it wants to join, as the command line names it.
    package var call: String

    package init(name: String, note: String, key: GuestKey?, address: String, call: String = "web") {
        (self.name, self.note, self.key, self.address, self.call) = (name, note, key, address, call)
    }
}

/// A knock, with the words of its knocker.
@dynamicMemberLookup
package struct Knock: Sendable, Equatable {
    /// Counted up.
    package let number: Int
    package let since: Instant
    /// With its name and note each on one line; either may be empty.
    let knocker: Knocker

    package subscript<Word>(dynamicMember word: KeyPath<Knocker, Word>) -> Word { knocker[keyPath: word] }

    /// For people: the name, if there is one, the address and the note.
    package var who: String { Self.who(name: knocker.name, note: knocker.note, address: knocker.address) }

    package static func who(name: String, note: String, address: String) -> String {
        let name = name.isEmpty ? "somebody" : "\"\(name)\""
        return "\(name) from \(address)" + (note.isEmpty ? "" : " (\"\(note)\")")
    }
}

package enum KnockAnswer: String, Sendable {
    case accepted, rejected
    case noAnswer = "no_answer"
    /// The knocker has gone.
    case cancelled
}

/// The knocks that wait for an answer. Sans-IO.
struct Lobby: Sendable {
    /// The most knocks at once, in all and of one network.
    private static let (most, mostOfOneNetwork) = (32, 4)
    /// Unicode scalars of names and notes.
    static let (longestName, longestNote) = (60, 200)

    private let patience: Duration
    /// Each knock is reported, so there must not be many.
    private var allowance = NetworkAllowance(limit: 8, recovery: .seconds(5))
    var toldRefusals = NetworkAllowance.ofToldRefusals
    private(set) var waiting: [Knock] = []
    private var nextNumber: Int

    init(patience: Duration, countingFrom number: Int) { (self.patience, nextNumber) = (patience, number) }

    /// All knocks have the same patience, so the first one's ends first.
    var nextDeadline: Instant? { waiting.first.map { $0.since + patience } }

    /// - Returns: the knock, nil if too many wait; and an earlier knock of the same key, which this one cancels.
    mutating func knock(_ knocker: Knocker, now: Instant) -> (made: Knock?, replaced: Knock?) {
        let earlier = waiting.first { knocker.key != nil && $0.key == knocker.key }
        let replaced = earlier.flatMap { remove($0.number) }
        let network = ClientAddress(knocker.address).network
        guard waiting.count < Self.most,
            waiting.count(where: { ClientAddress($0.address).network == network }) < Self.mostOfOneNetwork,
            allowance.take(from: knocker.address, now: now) == 1
        else { return (nil, replaced) }
        defer { nextNumber += 1 }
        var readable = knocker
        readable.name = Self.line(knocker.name, Self.longestName)
        readable.note = Self.line(knocker.note, Self.longestNote)
        let knock = Knock(number: nextNumber, since: now, knocker: readable)
        waiting.append(knock)
        return (knock, replaced)
    }

    /// - Returns: the knock that waited; nil if there is none of this number.
    mutating func remove(_ number: Int) -> Knock? {
        waiting.firstIndex { $0.number == number }.map { waiting.remove(at: $0) }
    }

    mutating func takeOverdue(now: Instant) -> [Knock] {
        let overdue = waiting.prefix { $0.since + patience <= now }
        waiting.removeFirst(overdue.count)
        return Array(overdue)
    }

    /// A knocker's text as one line, without control characters for a terminal or a reader of lines.
    static func line(_ text: String, _ length: Int) -> String {
        let words = text.unicodeScalars.split { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate, .privateUse,
                .unassigned:
                true
            default: scalar == "\""
            }
        }
        return String(String.UnicodeScalarView(words.joined(separator: " ".unicodeScalars).prefix(length)))
    }
}
