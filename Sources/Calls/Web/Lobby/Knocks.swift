import HTTP
package import Time

/// Viewers who ask to be let in, and what became of them. Sans-IO: call `tick` when `nextDeadline` comes.
package struct Knocks: Sendable {
    package struct Knock: Sendable, Equatable {
        /// Counted from 1.
        package let number: Int
        /// What the viewer says of itself; either may be empty.
        package let name: String
        package let note: String
        package let address: String
        /// The call into which it wants, as the command line names it.
        package let call: String
        package let since: Instant
        /// By what the viewer shows later that it was let in; nil for one who cannot.
        let key: String?
    }

    package enum Answer: String, Sendable {
        case accepted, rejected
        case noAnswer = "no_answer"
        /// The viewer waits no more.
        case cancelled
    }

    /// Those who wait at once, in all and of one address.
    private static let (most, mostOfOneAddress) = (32, 4)
    /// Those who are remembered.
    private static let mostKnown = 1000
    /// Unicode scalars of names and notes, bytes of keys.
    static let (longestName, longestNote, keyLengths) = (60, 200, 16...128)

    private let patience: Duration
    /// Knocks are told, so they must not be many.
    private var allowance = NetworkAllowance(limit: 8, recovery: .seconds(5))
    private(set) package var waiting: [Knock] = []
    private var lastNumber = 0
    private var known: [String] = []
    private var answers: [(Knock, Answer)] = []

    /// - Parameter patience: how long a knock waits for an answer.
    package init(patience: Duration) { self.patience = patience }

    package var nextDeadline: Instant? { waiting.first.map { $0.since + patience } }

    /// The knocks that were answered since the last call, in order.
    package mutating func takeAnswers() -> [(knock: Knock, answer: Answer)] {
        defer { answers = [] }
        return answers
    }

    /// Whether a viewer was let in before, and not sent away since.
    package func isKnown(_ key: String?) -> Bool { key.map(known.contains) ?? false }

    /// - Returns: nil if too many wait. A viewer that knocks again takes the place of its first knock.
    package mutating func knock(
        name: String,
        note: String,
        key: String?,
        from address: String,
        in call: String = "web",
        now: Instant
    ) -> Knock? {
        let key = key.flatMap { Self.keyLengths ~= $0.utf8.count ? $0 : nil }
        if let key, let earlier = waiting.first(where: { $0.key == key }) { answer(earlier.number, .cancelled) }
        guard waiting.count < Self.most, waiting.count(where: { $0.address == address }) < Self.mostOfOneAddress,
            allowance.take(from: address, now: now) == 1
        else { return nil }
        lastNumber += 1
        let knock = Knock(
            number: lastNumber,
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

    /// - Returns: whether such a knock waits.
    @discardableResult
    package mutating func answer(_ number: Int, _ answer: Answer) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return false }
        let knock = waiting.remove(at: index)
        if answer == .accepted, let key = knock.key, !known.contains(key) {
            known.append(key)
            known.removeFirst(max(0, known.count - Self.mostKnown))
        }
        answers.append((knock, answer))
        return true
    }

    /// Has a viewer knock again when it comes again.
    package mutating func forget(_ key: String) { known.removeAll { $0 == key } }

    package mutating func tick(now: Instant) {
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
