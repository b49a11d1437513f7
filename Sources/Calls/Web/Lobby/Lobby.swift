import Access
import Posix
import Synchronization
import Time

/// Where viewers wait until somebody lets them in. Any thread may ask.
package final class Lobby: Sendable {
    package enum Event: Sendable, CustomStringConvertible {
        case knocked(Knocks.Knock)
        case answered(Knocks.Knock, Knocks.Answer)
        /// Nobody is asked about somebody, as too many wait; told for each network once in a while.
        case turnedAway(address: String, call: String)

        package var description: String {
            switch self {
            case .knocked(let knock):
                "\(knock.who) asks to look in: \"oriel accept \(knock.number)\" or \"oriel reject \(knock.number)\""
            case .answered(let knock, let answer):
                switch answer {
                case .accepted: "\(knock.who) is let in"
                case .rejected: "\(knock.who) is not let in"
                case .noAnswer: "\(knock.who) got no answer"
                case .cancelled: "\(knock.who) waits no more"
                }
            case .turnedAway(let address, _): "somebody from \(address) was turned away: too many wait for an answer"
            }
        }
    }

    private struct State {
        var knocks: Knocks
        var completions: [Int: @Sendable (Knocks.Knock, Knocks.Answer) -> Void] = [:]
        var timerAt: Instant?
        var toldRefusals = NetworkAllowance.ofToldRefusals
        /// What is yet to be reported, in order, and whether a thread does so.
        var events: [Event] = []
        var isReporting = false
    }

    private let state: Mutex<State>
    private let schedule: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    private let report: @Sendable (Event) -> Void

    /// - Parameters:
    ///   - patience: how long a viewer waits for an answer.
    ///   - known: those who need not knock.
    ///   - number: of the first knock.
    ///   - schedule: calls back after a while, on any thread.
    ///   - report: gets the events, on any thread.
    package init(
        patience: Duration,
        known: [Visitor] = [],
        countingFrom number: Int = 1,
        schedule: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void,
        report: @escaping @Sendable (Event) -> Void
    ) {
        state = Mutex(State(knocks: Knocks(patience: patience, known: known, countingFrom: number)))
        (self.schedule, self.report) = (schedule, report)
    }

    package var waiting: [Knocks.Knock] { state.withLock { $0.knocks.waiting } }

    /// The one of this key, if it was let in before.
    package func visitor(_ key: String?) -> Visitor? { state.withLock { $0.knocks.visitor(key) } }

    /// Has a viewer wait. The completion is called once, on any thread, unless nil is returned.
    ///
    /// - Returns: the knock's number; nil if too many wait.
    func knock(
        name: String,
        note: String,
        key: String?,
        from address: String,
        in call: String = "web",
        completion: @escaping @Sendable (Knocks.Knock, Knocks.Answer) -> Void
    ) -> Int? {
        var made: Knocks.Knock?
        change { state, now in
            made = state.knocks.knock(name: name, note: note, key: key, from: address, in: call, now: now)
            guard let made else {
                let isTold = state.toldRefusals.take(from: address, now: now) == 1
                return isTold ? .turnedAway(address: address, call: call) : nil
            }
            state.completions[made.number] = completion
            return .knocked(made)
        }
        return made?.number
    }

    /// - Returns: the knock that waited; nil if there is none of this number.
    @discardableResult
    package func answer(_ number: Int, _ answer: Knocks.Answer) -> Knocks.Knock? {
        var knock: Knocks.Knock?
        change { state, _ in
            knock = state.knocks.answer(number, answer)
            return nil
        }
        return knock
    }

    /// Has viewers knock again when they come again.
    ///
    /// - Returns: those who need not have knocked.
    @discardableResult
    package func forget(where isMeant: (Visitor) -> Bool) -> [Visitor] {
        state.withLock { $0.knocks.forget(where: isMeant) }
    }

    /// Has nobody wait any more.
    package func close() { for knock in waiting { answer(knock.number, .cancelled) } }

    /// - Parameter body: returns what it has brought, beside answers.
    private func change(_ body: (inout State, Instant) -> Event?) {
        let now: Instant = MonotonicClock.now()
        let (answers, timer) = state.withLock { state in
            let event = body(&state, now)
            let answers = state.knocks.takeAnswers().map { knock, answer in
                (knock, answer, state.completions.removeValue(forKey: knock.number))
            }
            state.events += answers.map { .answered($0.0, $0.1) }
            if let event { state.events.append(event) }
            let deadline = state.knocks.nextDeadline
            defer { state.timerAt = deadline }
            return (answers, deadline == state.timerAt ? nil : deadline)
        }
        if let timer {
            schedule(max(timer - now, .zero)) { [weak self] in
                self?.change { state, now in
                    state.knocks.tick(now: now)
                    return nil
                }
            }
        }
        reportEvents()
        for (knock, answer, completion) in answers { completion?(knock, answer) }
    }

    /// One thread reports at a time, whoever's events they are: an answer may come before its knock is reported.
    private func reportEvents() {
        while true {
            let event = state.withLock { state -> Event? in
                guard !state.isReporting, !state.events.isEmpty else { return nil }
                state.isReporting = true
                return state.events.removeFirst()
            }
            guard let event else { return }
            report(event)
            state.withLock { $0.isReporting = false }
        }
    }
}
