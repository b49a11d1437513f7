package import FrameBridge
import Posix
package import Time

/// Decides what of a broadcast may be sent: nothing while it is paused, and nothing from before. For one thread.
package struct BroadcastPauses: ~Copyable {
    private var broadcast: FrameReader
    /// Whether the last thorough look found a capture process.
    private var isLive = false
    package private(set) var isPaused = false
    /// The beginning of the broadcast's present state. A pause that was not seen moves it, too.
    private var stateSince: Instant?

    package init(of broadcast: consuming FrameReader) { self.broadcast = broadcast }

    /// What was captured earlier is not sent any more; nil for no limit.
    package var horizon: Instant? { [broadcast.horizon.instant, stateSince].compactMap(\.self).max() }

    /// Looks at the broadcast. If a capture process dies while paused, the broadcast stays paused.
    ///
    /// - Parameter isThorough: whether to ask the kernel too. Shortly after that, shared memory has all news.
    package mutating func look(isThorough: Bool) {
        if !isThorough, isLive, let (state, since) = broadcast.glance() { return note(state, since: since) }
        guard let state = stateByLiveness() else {
            isLive = false
            return
        }
        isLive = true
        let told = broadcast.glance().flatMap { $0.state == state ? $0.since : nil }
        note(state, since: told ?? (isPaused ? MonotonicClock.now() : nil))
    }

    /// - Parameter since: nil if unknown. The last known instant then stays.
    private mutating func note(_ state: BroadcastState, since: Instant?) {
        isPaused = state == .paused
        // A damaged bridge may contain a future instant.
        if let since { stateSince = min(since, MonotonicClock.now()) }
    }

    private mutating func stateByLiveness() -> BroadcastState? {
        switch try? broadcast.liveness() {
        case .live(let state), .stalled(let state): state
        case .dead, .stopped, nil: nil
        }
    }
}
