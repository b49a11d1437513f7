import FrameBridge
import Posix
import Time

/// When what is heard in a broadcast may be sent: not while that is paused, and nothing that was heard until then. Used by one thread.
struct BroadcastPauses: ~Copyable {
    private var broadcast: FrameReader
    /// Whether a capture process was there at the last look that was thorough.
    private var isLive = false
    private(set) var isPaused = false
    /// When the state began that the broadcast is in. A pause that nobody saw moves it, too.
    private var stateSince: Instant?

    init(of broadcast: consuming FrameReader) { self.broadcast = broadcast }

    /// What was heard before it is not sent any more; nil for all.
    var horizon: Instant? { [broadcast.horizon.instant, stateSince].compactMap(\.self).max() }

    /// Looks at the broadcast. A capture process that dies while it is paused leaves a broadcast that is.
    ///
    /// - Parameter isThorough: whether the kernel is asked, too; where it was asked a moment ago, memory tells of what is new.
    mutating func look(isThorough: Bool) {
        if !isThorough, isLive, let (state, since) = broadcast.glance() { return note(state, since: since) }
        guard let state = stateByLiveness() else {
            isLive = false
            return
        }
        isLive = true
        let told = broadcast.glance().flatMap { $0.state == state ? $0.since : nil }
        note(state, since: told ?? (isPaused ? MonotonicClock.now() : nil))
    }

    /// - Parameter since: nil where nobody tells, which is no news then.
    private mutating func note(_ state: BroadcastState, since: Instant?) {
        isPaused = state == .paused
        // The future is damage.
        if let since { stateSince = min(since, MonotonicClock.now()) }
    }

    private mutating func stateByLiveness() -> BroadcastState? {
        switch try? broadcast.liveness() {
        case .live(let state), .stalled(let state): state
        case .dead, .stopped, nil: nil
        }
    }
}
