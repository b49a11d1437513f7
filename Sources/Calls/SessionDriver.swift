import HTTP
import Posix
import Synchronization
import Time

/// A sans-IO session of a call that others run.
protocol CallSession: Sendable {
    associatedtype Output: Sendable

    /// When `tick` may have something to do; nil while there is nothing to wait for.
    var nextDeadline: Instant? { get }
    mutating func tick(now: Instant)
    /// What the calls since the last one led to, in order.
    mutating func takeOutputs() -> [Output]
}

extension JanusSession: CallSession {}
extension RoomSession: CallSession {}
extension WHIPSession: CallSession {}

/// A session with its timer, on a web client's thread.
final class SessionDriver<Session: CallSession>: Sendable {
    private struct State {
        var session: Session
        /// The deadline of the last timer.
        var timerAt: Instant?
    }

    private let web: WebClient
    private let state: Mutex<State>

    init(_ session: Session, by web: WebClient) {
        self.web = web
        state = Mutex(State(session: session))
    }

    /// Changes the session. Returns what is to be done.
    ///
    /// - Parameter atDeadline: is called when the session is to be ticked.
    func change(
        _ body: (inout Session, Instant) -> Void,
        atDeadline: @escaping @Sendable () -> Void
    ) -> [Session.Output] {
        let now: Instant = MonotonicClock.now()
        let (outputs, timer) = state.withLock { state -> ([Session.Output], Instant?) in
            body(&state.session, now)
            let deadline = state.session.nextDeadline
            let isNews = deadline != state.timerAt
            state.timerAt = deadline
            return (state.session.takeOutputs(), isNews ? deadline : nil)
        }
        if let timer { web.schedule(in: max(timer - now, .zero), atDeadline) }
        return outputs
    }
}
