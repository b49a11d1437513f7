import Posix
import SocketIO
import Synchronization
import Time

/// A sans-IO state machine with one deadline.
protocol Engine: Sendable {
    associatedtype Output: Sendable

    /// When `tick` may have something to do; nil while there is nothing to wait for.
    var nextDeadline: Instant? { get }
    mutating func tick(now: Instant)
    /// The outputs since the last call, in order.
    mutating func takeOutputs() -> [Output]
}

extension JanusSession: Engine {}
extension RoomSession: Engine {}
extension SocketClient: Engine {}
extension WHIPSession: Engine {}

/// An engine with its lock and its one timer. Outputs are performed one at a time, without the lock, in the order in which the engine
/// made them. Further outputs wait for their turn.
final class EngineDriver<Machine: Engine>: Sendable {
    private struct State {
        var engine: Machine
        /// The one timer that counts.
        var timerAt: Instant?
        var outputs: [Machine.Output] = []
        var isPerforming = false
    }

    private let clock: @Sendable () -> Instant
    private let schedule: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    private let state: Mutex<State>

    /// - Parameter schedule: calls back once after a while.
    init(
        _ engine: Machine,
        clock: @escaping @Sendable () -> Instant = { MonotonicClock.now() },
        schedule: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    ) {
        (self.clock, self.schedule) = (clock, schedule)
        state = Mutex(State(engine: engine))
    }

    /// Changes the engine, and performs the outputs. While another thread performs one, that thread performs these too.
    ///
    /// - Parameters:
    ///   - owner: gets the outputs. The timer holds it weakly.
    ///   - body: is called under the lock.
    ///   - perform: performs an output. It is the same for each change.
    @discardableResult
    func change<Owner: AnyObject & Sendable, Result: Sendable>(
        for owner: Owner,
        _ body: (inout Machine, Instant) -> Result,
        perform: @escaping @Sendable (Owner, Machine.Output, Instant) -> Void
    ) -> Result {
        let now = clock()
        let (result, timer) = state.withLock { state -> (Result, Instant?) in
            let result = body(&state.engine, now)
            state.outputs += state.engine.takeOutputs()
            guard let deadline = state.engine.nextDeadline, state.timerAt.map({ deadline < $0 }) ?? true else {
                return (result, nil)
            }
            state.timerAt = deadline
            return (result, deadline)
        }
        if let timer {
            schedule(max(timer - now, .zero)) { [weak self, weak owner] in
                if let owner { self?.tick(timer, for: owner, perform) }
            }
        }
        while let outputs = takeOutputs() {
            for output in outputs { perform(owner, output, now) }
            state.withLock { $0.isPerforming = false }
        }
        return result
    }

    func read<Result: Sendable>(_ body: (Machine) -> Result) -> Result { state.withLock { body($0.engine) } }

    private func tick<Owner: AnyObject & Sendable>(
        _ timer: Instant,
        for owner: Owner,
        _ perform: @escaping @Sendable (Owner, Machine.Output, Instant) -> Void
    ) {
        let counts = state.withLock { state in
            guard state.timerAt == timer else { return false }
            state.timerAt = nil
            return true
        }
        if counts { change(for: owner, { engine, now in engine.tick(now: now) }, perform: perform) }
    }

    private func takeOutputs() -> [Machine.Output]? {
        state.withLock { state in
            guard !state.isPerforming, !state.outputs.isEmpty else { return nil }
            state.isPerforming = true
            return exchange(&state.outputs, with: [])
        }
    }
}
