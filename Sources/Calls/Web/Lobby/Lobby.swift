import HTTP
import Posix
import Synchronization
import Time

/// Where viewers wait until somebody lets them in. Any thread may ask.
package final class Lobby: Sendable {
    package enum Event: Sendable, CustomStringConvertible {
        case knocked(Knocks.Knock)
        case answered(Knocks.Knock, Knocks.Answer)

        package var description: String {
            switch self {
            case .knocked(let knock):
                "\(Self.who(knock)) asks to look in: \"oriel accept \(knock.number)\" or \"oriel reject \(knock.number)\""
            case .answered(let knock, let answer):
                switch answer {
                case .accepted: "\(Self.who(knock)) is let in"
                case .rejected: "\(Self.who(knock)) is not let in"
                case .noAnswer: "\(Self.who(knock)) got no answer"
                case .cancelled: "\(Self.who(knock)) waits no more"
                }
            }
        }

        private static func who(_ knock: Knocks.Knock) -> String {
            let name = knock.name.isEmpty ? "somebody" : "\"\(knock.name)\""
            return "\(name) from \(knock.address)" + (knock.note.isEmpty ? "" : " (\"\(knock.note)\")")
        }
    }

    private struct State {
        var knocks: Knocks
        var completions: [Int: @Sendable (Knocks.Answer) -> Void] = [:]
        var timerAt: Instant?
    }

    private let state: Mutex<State>
    private let schedule: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    private let report: @Sendable (Event) -> Void

    /// - Parameters:
    ///   - patience: how long a viewer waits for an answer.
    ///   - schedule: calls back after a while, on any thread.
    ///   - report: gets the events, on any thread.
    package init(
        patience: Duration,
        schedule: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void,
        report: @escaping @Sendable (Event) -> Void
    ) {
        state = Mutex(State(knocks: Knocks(patience: patience)))
        (self.schedule, self.report) = (schedule, report)
    }

    package var waiting: [Knocks.Knock] { state.withLock { $0.knocks.waiting } }

    /// Whether a viewer was let in before.
    func isKnown(_ key: String?) -> Bool { state.withLock { $0.knocks.isKnown(key) } }

    /// Has a viewer wait. The completion is called once, on any thread, unless nil is returned.
    ///
    /// - Returns: the knock's number; nil if too many wait.
    func knock(
        name: String,
        note: String,
        key: String?,
        from address: String,
        in call: String = "web",
        completion: @escaping @Sendable (Knocks.Answer) -> Void
    ) -> Int? {
        var made: Knocks.Knock?
        change { state, now in
            made = state.knocks.knock(name: name, note: note, key: key, from: address, in: call, now: now)
            if let made { state.completions[made.number] = completion }
        }
        if let made { report(.knocked(made)) }
        return made?.number
    }

    /// - Returns: whether such a knock waits.
    @discardableResult
    package func answer(_ number: Int, _ answer: Knocks.Answer) -> Bool {
        var wasThere = false
        change { state, _ in wasThere = state.knocks.answer(number, answer) }
        return wasThere
    }

    /// A viewer was sent away: it has to knock again.
    package func forget(_ key: String) { state.withLock { $0.knocks.forget(key) } }

    /// Has nobody wait any more.
    package func close() { for knock in waiting { answer(knock.number, .cancelled) } }

    private func change(_ body: (inout State, Instant) -> Void) {
        let now: Instant = MonotonicClock.now()
        let (answers, timer) = state.withLock { state in
            body(&state, now)
            let answers = state.knocks.takeAnswers().map { knock, answer in
                (knock, answer, state.completions.removeValue(forKey: knock.number))
            }
            let deadline = state.knocks.nextDeadline
            defer { state.timerAt = deadline }
            return (answers, deadline == state.timerAt ? nil : deadline)
        }
        if let timer {
            schedule(max(timer - now, .zero)) { [weak self] in
                self?.change { state, now in state.knocks.tick(now: now) }
            }
        }
        for (knock, answer, completion) in answers {
            report(.answered(knock, answer))
            completion?(answer)
        }
    }
}
