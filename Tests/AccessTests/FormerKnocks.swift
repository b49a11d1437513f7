import Posix
import Time

@testable import Access

/// A guest of `FormerKnocks`.
struct FormerVisitor: Sendable, Equatable {
    /// By what it is known again: the SHA-256, in hexadecimal digits, of a secret that its browser keeps.
    let key: String
    /// What it said of itself; may be empty.
    let name: String

    init(key: String, name: String) { (self.key, self.name) = (key, name) }
}

/// Knocks as they were before `Lobby` and `Guests`, which do the same: the oracle of `LobbyTests`.
struct FormerKnocks: Sendable {
    struct Knock: Sendable, Equatable {
        /// Counted up.
        let number: Int
        /// What the viewer says of itself; either may be empty.
        let name: String
        let note: String
        let address: String
        /// The call into which it wants, as the command line names it.
        let call: String
        let since: Instant
        /// By what the viewer is known again, as `FormerVisitor.key`; nil for one who shows nothing of the kind.
        let key: String?
    }

    enum Answer: String, Sendable {
        case accepted, rejected
        case noAnswer = "no_answer"
        /// The viewer waits no more.
        case cancelled
    }

    /// Those who wait at once, in all and of one network.
    private static let (most, mostOfOneNetwork) = (32, 4)
    /// Those let in who are remembered.
    private static let mostKnown = 1000
    /// Unicode scalars of names and notes.
    private static let (longestName, longestNote) = (60, 200)

    private let patience: Duration
    /// Knocks are told, so they must not be many.
    private var allowance = NetworkAllowance(limit: 8, recovery: .seconds(5))
    private(set) var waiting: [Knock] = []
    private var nextNumber: Int
    /// Those who were known at the beginning, and those let in since.
    private var (invited, known): ([FormerVisitor], [FormerVisitor])
    private var answers: [(Knock, Answer)] = []

    /// - Parameters:
    ///   - patience: how long a knock waits for an answer.
    ///   - known: those who need not knock.
    ///   - number: of the first knock.
    init(patience: Duration, known: [FormerVisitor] = [], countingFrom number: Int = 1) {
        (self.patience, nextNumber) = (patience, number)
        (invited, self.known) = (known, [])
    }

    var nextDeadline: Instant? { waiting.first.map { $0.since + patience } }

    /// The knocks that were answered since the last call, in order.
    mutating func takeAnswers() -> [(knock: Knock, answer: Answer)] {
        defer { answers = [] }
        return answers
    }

    /// The one of this key, if it was let in, and not sent away since.
    func visitor(_ key: String?) -> FormerVisitor? {
        key.flatMap { key in (known + invited).first { $0.key == key } }
    }

    /// - Returns: nil if too many wait. A viewer that knocks again takes the place of its first knock.
    mutating func knock(
        name: String,
        note: String,
        key: String?,
        from address: String,
        in call: String = "web",
        now: Instant
    ) -> Knock? {
        if let key, let earlier = waiting.first(where: { $0.key == key }) { answer(earlier.number, .cancelled) }
        let network = ClientAddress(address).network
        guard waiting.count < Self.most,
            waiting.count(where: { ClientAddress($0.address).network == network }) < Self.mostOfOneNetwork,
            allowance.take(from: address, now: now) == 1
        else { return nil }
        defer { nextNumber += 1 }
        let knock = Knock(
            number: nextNumber,
            name: Self.line(name, Self.longestName),
            note: Self.line(note, Self.longestNote),
            address: address,
            call: call,
            since: now,
            key: key
        )
        waiting.append(knock)
        return knock
    }

    /// - Returns: the knock that waited; nil if there is none of this number.
    @discardableResult
    mutating func answer(_ number: Int, _ answer: Answer) -> Knock? {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return nil }
        let knock = waiting.remove(at: index)
        if answer == .accepted, let key = knock.key {
            forget { $0.key == key }
            known.append(FormerVisitor(key: key, name: knock.name))
            known.removeFirst(max(0, known.count - Self.mostKnown))
        }
        answers.append((knock, answer))
        return knock
    }

    /// Has viewers knock again when they come again.
    ///
    /// - Returns: those who need not have knocked.
    @discardableResult
    mutating func forget(where isMeant: (FormerVisitor) -> Bool) -> [FormerVisitor] {
        let forgotten = (known + invited).filter(isMeant)
        known.removeAll(where: isMeant)
        invited.removeAll(where: isMeant)
        return forgotten
    }

    mutating func tick(now: Instant) {
        while let first = waiting.first, first.since + patience <= now { answer(first.number, .noAnswer) }
    }

    /// What a viewer says, as one line without anything that a terminal would obey, or a reader take for the end of it.
    private static func line(_ text: String, _ length: Int) -> String {
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
