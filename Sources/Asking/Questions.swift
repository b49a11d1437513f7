import Time

/// Who knocks, as a person is asked at a terminal: one after the other. Sans-IO.
struct Questions {
    enum Output: Equatable {
        case say(String)
        case answer(id: Int, Verdict)
    }

    /// What is typed so soon after a question was meant for another one.
    static let shortestReading = Duration.milliseconds(500)

    private enum Prompt {
        /// Not on the terminal yet.
        case due
        case shown(at: Instant)
        /// The sender has not said what came of it.
        case answered
    }

    private var knocks: [Question.Knock] = []
    /// That of the first knock.
    private var prompt = Prompt.due

    /// Whether somebody may be answered by what is typed.
    var isOpen: Bool { if case .shown = prompt { !knocks.isEmpty } else { false } }

    /// Whether a question is to be shown as soon as somebody can read it.
    var isDue: Bool { if case .due = prompt { !knocks.isEmpty } else { false } }

    mutating func take(_ question: Question) {
        switch question {
        case .knocked(let knock): knocks.append(knock)
        case .answered(let id, _):
            if knocks.first?.id == id { prompt = .due }
            knocks.removeAll { $0.id == id }
        }
    }

    /// The first question, if it is due. Whatever was typed before is to be forgotten.
    mutating func show(now: Instant) -> String? {
        guard isDue, let knock = knocks.first else { return nil }
        prompt = .shown(at: now)
        return Self.text(for: knock)
    }

    mutating func typed(_ line: String, now: Instant) -> Output? {
        guard case .shown(let shownAt) = prompt, let knock = knocks.first else { return nil }
        guard now >= shownAt + Self.shortestReading, let verdict = Self.verdict(line) else {
            return .say(Self.text(for: knock))
        }
        prompt = .answered
        return .answer(id: knock.id, verdict)
    }

    private static func text(for knock: Question.Knock) -> String {
        "let in \(knock.who)? Type y (yes), n (no) or a (always), and Enter"
    }

    private static func verdict(_ line: String) -> Verdict? {
        switch line.filter({ !$0.isWhitespace }).lowercased() {
        case "y", "yes": .accept
        case "n", "no": .reject
        case "a", "always": .acceptAlways
        default: nil
        }
    }
}
