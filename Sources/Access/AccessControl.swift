package import Media
import Posix
import Synchronization
package import Time

/// The access control of a sender, asked at each of its doors, on any thread.
///
/// It has two locks: one for the gate, which strangers can keep busy, and one for the rest.
package final class AccessControl: Sendable {
    package typealias Decided = @Sendable (Knock, KnockAnswer) -> Void

    package struct Outlets: Sendable {
        /// Asks for a call of `turn` before the instant that the last one returned. Called on any thread.
        package var wake: @Sendable () -> Void
        /// Gets the events, one after the other, on any thread.
        package var tell: @Sendable (AccessEvent) -> Void
        /// Gets participants whose time is over, with their former rights, in the manner of `tell`.
        package var ended: @Sendable (ParticipantID, Rights, GrantEnd) -> Void
        /// Keeps changes of invitations, in the manner of `tell`.
        package var keep: @Sendable (Invites.Change) -> Void = { _ in }

        package init(
            wake: @escaping @Sendable () -> Void,
            tell: @escaping @Sendable (AccessEvent) -> Void,
            ended: @escaping @Sendable (ParticipantID, Rights, GrantEnd) -> Void = { _, _, _ in }
        ) {
            (self.wake, self.tell, self.ended) = (wake, tell, ended)
        }
    }

    private struct State {
        var engine: AccessEngine
        /// By the numbers of their knocks.
        var waiters: [Int: Decided] = [:]
        var outlets: Outlets?
        /// The deeds to do, in order, and whether a thread is doing one.
        var deeds: [@Sendable (Outlets) -> Void] = []
        var isPerforming = false
        /// When `turn` is called without a wake; nil for never.
        var turnAt: Instant?
        /// Of invitations that came, by their numbers, and that ended: for the gate.
        var tokens: [(token: TokenHash, number: Int?)] = []

        mutating func collect() {
            for output in engine.takeOutputs() {
                switch output {
                case .tell(let event): deeds.append { $0.tell(event) }
                case .decided(let knock, let answer):
                    let decided = waiters.removeValue(forKey: knock.number)
                    deeds.append { _ in decided?(knock, answer) }
                case .ended(let participant, let rights, let end):
                    deeds.append { $0.ended(participant, rights, end) }
                case .changed(let change):
                    switch change {
                    case .made(let invite): tokens.append((invite.token, invite.number))
                    case .ended(let invite): tokens.append((invite.token, nil))
                    case .claimed: break
                    }
                    deeds.append { $0.keep(change) }
                }
            }
        }

        /// - Returns: the call for an earlier `turn`; nil if none is needed.
        mutating func settle() -> (@Sendable () -> Void)? {
            collect()
            guard let outlets, let deadline = engine.nextDeadline, turnAt.map({ deadline < $0 }) ?? true else {
                return nil
            }
            turnAt = deadline
            return outlets.wake
        }

        /// The next deed. The caller does it, and clears `isPerforming`.
        mutating func take() -> (deed: @Sendable (Outlets) -> Void, outlets: Outlets)? {
            guard let outlets, !isPerforming, !deeds.isEmpty else { return nil }
            isPerforming = true
            return (deeds.removeFirst(), outlets)
        }

        var isIdle: Bool { outlets == nil || !isPerforming && deeds.isEmpty }
    }

    private let state: Mutex<State>
    private let gate: Mutex<Gate>
    /// Rung when all deeds are done.
    private let hasPerformed = Bell()
    /// Whether people other than guests have to knock.
    package let asks: Bool
    /// Where nobody may speak, no sound is asked for.
    package let talk: TalkPolicy
    package let needsToken: Bool

    /// - Parameters:
    ///   - token: nil lets everybody in.
    ///   - viewerLimit: the most viewers.
    package init(
        _ settings: AccessEngine.Settings = AccessEngine.Settings(),
        token: String? = nil,
        viewerLimit: Int = 50
    ) {
        state = Mutex(State(engine: AccessEngine(settings)))
        gate = Mutex(Gate(token: token, viewerLimit: viewerLimit))
        gate.withLock { $0.token.note(settings.invites.map { ($0.token, $0.number) }) }
        (asks, talk) = (settings.asks, settings.talk)
        needsToken = token != nil
    }

    /// Starts the events. Earlier ones come first.
    package func begin(_ outlets: Outlets) { update { state, _ in state.outlets = outlets } }

    /// Asks or changes something. The body must not call this object. Nothing that calls it may hold a lock that the
    /// body takes.
    @discardableResult
    package func change<Result: Sendable>(_ body: (inout AccessEngine, Instant) -> Result) -> Result {
        update { state, now in body(&state.engine, now) }
    }

    package func read<Result: Sendable>(_ body: (AccessEngine) -> Result) -> Result {
        state.withLock { body($0.engine) }
    }

    package func atGate<Result: Sendable>(_ body: (inout Gate, Instant) -> Result) -> Result {
        let now: Instant = MonotonicClock.now()
        return gate.withLock { body(&$0, now) }
    }

    /// Adds a knock. `decided` is called once, on any thread, unless nil is returned.
    ///
    /// - Returns: the knock's number; nil if too many wait.
    package func knock(_ knocker: Knocker, decided: @escaping Decided) -> Int? {
        update { state, now in
            guard let knock = state.engine.knock(knocker, now: now) else { return nil }
            state.waiters[knock.number] = decided
            return knock.number
        }
    }

    /// Ends a participant's time.
    ///
    /// - Parameter told: called on any thread when all events about the participant were told.
    package func end(_ id: ParticipantID, told: @escaping @Sendable () -> Void) {
        let isTold = update { state, now in
            state.engine.end(id, at: now)
            state.collect()
            if state.deeds.isEmpty, !state.isPerforming { return true }
            state.deeds.append { _ in told() }
            return false
        }
        if isTold { told() }
    }

    /// Performs overdue work.
    ///
    /// - Returns: when to call again, unless woken; nil for never.
    package func turn() -> Instant? {
        update { state, now in state.engine.tick(now: now) }
        return state.withLock { state in
            state.turnAt = state.engine.nextDeadline
            return state.turnAt
        }
    }

    /// Ends all knocks. Returns when all their answers were delivered, by any thread.
    package func close(within time: Duration = .milliseconds(500)) {
        update { state, _ in
            state.engine.closeLobby()
            // The events of a sender that failed to start go nowhere.
            if state.outlets == nil { state.outlets = Outlets(wake: {}, tell: { _ in }) }
        }
        hasPerformed.wait(until: MonotonicClock.now() + time) { state.withLock(\.isIdle) }
    }

    private func update<Result: Sendable>(_ body: (inout State, Instant) -> Result) -> Result {
        let now: Instant = MonotonicClock.now()
        let (result, wake, isIdle, tokens) = state.withLock { state in
            let result = body(&state, now)
            return (result, state.settle(), state.isIdle, exchange(&state.tokens, with: []))
        }
        if !tokens.isEmpty { gate.withLock { $0.token.note(tokens) } }
        wake?()
        if !isIdle { perform() }
        return result
    }

    /// One thread at a time does the deeds of all.
    private func perform() {
        while let (deed, outlets) = state.withLock({ $0.take() }) {
            deed(outlets)
            state.withLock { $0.isPerforming = false }
        }
        hasPerformed.ring()
    }
}
