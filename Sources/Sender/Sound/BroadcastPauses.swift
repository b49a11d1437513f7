import FrameBridge
import Posix
import Time

/// When what is heard in a broadcast may be sent: not while that is paused, and nothing that was heard until then. Used by one thread.
struct BroadcastPauses: ~Copyable {
    private var broadcast: FrameReader
    /// Whether a capture process was there at the last look that was thorough.
    private var isLive = false
    private(set) var isPaused = false
    /// Of the frames, at the last look. A pause moves it, also one that has begun and ended since.
    private var past: Instant?
    private var resumedAt: Instant?

    init(of broadcast: consuming FrameReader) { self.broadcast = broadcast }

    /// What was heard before it is not sent any more; nil for all.
    var horizon: Instant? { [broadcast.horizon.instant, resumedAt].compactMap(\.self).max() }

    /// Looks at the broadcast. A capture process that dies while it is paused leaves a broadcast that is.
    ///
    /// - Parameter isThorough: whether the kernel is asked, too; where it was asked a moment ago, memory tells of what is new.
    mutating func look(isThorough: Bool) {
        let past = broadcast.horizon.instant
        var told = isThorough || !isLive ? nil : broadcast.glance()
        if told == nil {
            guard let state = stateByLiveness() else {
                isLive = false
                return
            }
            isLive = true
            told = broadcast.glance().flatMap { $0.state == state ? $0 : nil } ?? (state, MonotonicClock.now())
        }
        let (wasPaused, hasMoved) = (isPaused, past != self.past)
        (isPaused, self.past) = (told!.state == .paused, past)
        if !isPaused, wasPaused || hasMoved { resumedAt = told!.since }
    }

    private mutating func stateByLiveness() -> BroadcastState? {
        switch try? broadcast.liveness() {
        case .live(let state), .stalled(let state): state
        case .dead, .stopped, nil: nil
        }
    }
}
