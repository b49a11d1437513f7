import Posix

/// Decides when to look at the screen, and at what of it. Sans-IO: instants are nanoseconds of the monotonic clock and
/// come from outside.
///
/// What is known to have changed is looked at as soon as the frame rate allows, so a change on a quiet screen shows at
/// once. XDamage misses some drawing (OpenGL, some compositors), hence the sweep: without any damage, stripes of the
/// screen are compared with the picture before, all of it once a second. A sweep that finds a change sets off polling of
/// the whole screen at the frame rate until `trustTime` has passed without another find.
struct CaptureSchedule {
    /// What to look at. The pointer is always asked for.
    struct Look: Equatable {
        enum Sweep: Equatable {
            case none
            /// One of `CaptureSchedule.stripes` parts of the screen, from 0 on.
            case stripe(Int)
            case everything
        }

        var takesDamage: Bool
        var sweep: Sweep
    }

    static let stripes = 2
    static let sweepInterval: UInt64 = 1_000_000_000 / UInt64(stripes)
    static let trustTime: UInt64 = 5_000_000_000
    /// A pointer that moved is asked for at the frame rate for as long, in case a program moves it without events.
    static let restTime: UInt64 = 250_000_000

    private var rate: RateLimit
    private var lastLook: UInt64?
    private var isDamaged = true
    private var pointerHasMoved = false
    private var pollsUntil: UInt64
    private var asksPointerUntil: UInt64
    private var sweepAt: UInt64 = 0
    private var stripe = 0

    /// - Parameters:
    ///   - interval: the time between two frames.
    ///   - hasDamage: whether the server tells of damage; without it the whole screen is polled.
    ///   - hasMotion: whether the server tells of the pointer's motion, or the pointer does not matter.
    init(interval: UInt64, hasDamage: Bool, hasMotion: Bool) {
        rate = RateLimit(interval: interval)
        pollsUntil = hasDamage ? 0 : .max
        asksPointerUntil = hasMotion ? 0 : .max
    }

    /// Something was drawn, or may have been.
    mutating func noteDamage() { isDamaged = true }

    /// The pointer has moved, or has another look.
    mutating func notePointer() { pointerHasMoved = true }

    /// Whether something waits for the frame rate to allow it: nothing the server may tell meanwhile matters.
    var isWaiting: Bool { isDamaged || pointerHasMoved }

    func isSweepDue(at now: UInt64) -> Bool { now >= sweepAt }

    /// When the next look is due; at once when there was none yet.
    var deadline: UInt64 {
        guard let lastLook else { return 0 }
        var deadline = max(sweepAt, lastLook + rate.interval)
        if lastLook < pollsUntil || lastLook < asksPointerUntil { deadline = min(deadline, lastLook + rate.interval) }
        return isWaiting ? min(deadline, rate.earliest) : deadline
    }

    /// The look to take now, if any.
    func due(at now: UInt64) -> Look? {
        guard now >= deadline else { return nil }
        guard let lastLook else { return Look(takesDamage: true, sweep: .everything) }
        let polls = lastLook < pollsUntil && now >= lastLook + rate.interval
        let sweep: Look.Sweep = polls ? .everything : now >= sweepAt ? .stripe(stripe) : .none
        // A sweep may find a part of what was damaged, which must not show without the rest.
        return Look(takesDamage: isDamaged && (now >= rate.earliest || sweep != .none), sweep: sweep)
    }

    /// The look was taken, and this was seen.
    mutating func note(_ look: Look, at now: UInt64, _ sight: XSession.Sight) {
        lastLook = now
        if look.takesDamage { isDamaged = false }
        if sight.isDamaged { isDamaged = true }
        pointerHasMoved = false
        if sight.pointerMoved { asksPointerUntil = max(asksPointerUntil, now &+ Self.restTime) }
        if sight.isMissed { pollsUntil = max(pollsUntil, now &+ Self.trustTime) }
        var isMereStripe = false
        switch look.sweep {
        case .none: break
        case .stripe:
            isMereStripe = !look.takesDamage
            stripe = (stripe + 1) % Self.stripes
            sweepAt = now + Self.sweepInterval
        case .everything: sweepAt = now + Self.sweepInterval
        }
        // A sweep in between that finds nothing does not delay what comes next.
        if sight.isNew || !isMereStripe { rate.note(at: now) }
    }
}
