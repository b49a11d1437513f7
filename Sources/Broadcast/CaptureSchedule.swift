import Posix

/// Decides when to look at the screen. Sans-IO: instants are nanoseconds of the monotonic clock and come from outside.
///
/// Damage makes a grab due as soon as the frame rate allows, so a change on a quiet screen is
/// grabbed at once. XDamage misses some drawing (OpenGL, some compositors), hence the sweep: a grab without damage once
/// a second, compared with the picture before. A sweep that finds a change sets off polling at the frame rate until
/// `trustTime` has passed without another find.
struct CaptureSchedule {
    enum Grab: Equatable {
        /// Something was drawn, or may have been: take the picture as new.
        case changed
        /// Nothing is known to be drawn: compare.
        case sweep
    }

    static let sweepInterval: UInt64 = 1_000_000_000
    static let trustTime: UInt64 = 5_000_000_000

    private var rate: RateLimit
    private var damaged = true
    private var lastGrab: UInt64?
    private var lastFrame: UInt64 = 0
    private var pollUntil: UInt64

    /// - Parameters:
    ///   - interval: the time between two frames.
    ///   - hasDamage: whether the server tells of damage; without it every interval has a sweep.
    init(interval: UInt64, hasDamage: Bool) {
        rate = RateLimit(interval: interval)
        pollUntil = hasDamage ? 0 : .max
    }

    mutating func noteDamage() { damaged = true }

    /// A sweep found what no damage had told of.
    mutating func noteMiss(at now: UInt64) { pollUntil = max(pollUntil, now &+ Self.trustTime) }

    mutating func noteGrab(at now: UInt64) {
        lastGrab = now
        damaged = false
        notePointer(at: now)
    }

    /// A picture in which only the pointer has moved was published.
    mutating func notePointer(at now: UInt64) {
        lastFrame = now
        rate.note(at: now)
    }

    /// Whether the pointer alone is worth a picture: not when the next grab will show it anyway.
    func pointerIsDue(at now: UInt64) -> Bool {
        now >= lastFrame + rate.interval - rate.interval / 16
    }

    /// When the next grab is due; at once when there was none yet.
    var deadline: UInt64 {
        guard let lastGrab else { return 0 }
        if damaged { return rate.earliest }
        return lastGrab + (lastGrab < pollUntil ? rate.interval : max(rate.interval, Self.sweepInterval))
    }

    /// The grab to make now, if any.
    func due(at now: UInt64) -> Grab? {
        guard now >= deadline else { return nil }
        return damaged ? .changed : .sweep
    }
}
