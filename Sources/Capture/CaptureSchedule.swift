import Posix
import Time

/// Decides when to look at the screen, and at which part. Sans-IO: instants come from outside.
///
/// A known change is looked at as soon as the frame rate allows, so that a change on a quiet screen shows at once.
/// XDamage misses some drawing (OpenGL, some compositors). Hence the sweep: without any damage, stripes of the screen
/// are compared with the picture before, all of it once a second. A sweep that finds a change starts polling of the
/// whole screen at the frame rate, until `trustTime` has passed without another find.
/// A screen at rest is swept in narrower stripes, all of it in four seconds, as the sweep is then most of the cost.
struct CaptureSchedule {
    /// The parts of a look. The pointer is always asked for.
    struct Look: Equatable {
        enum Sweep: Equatable {
            case none
            /// One of the stripes into which the screen is divided, from 0 on.
            case stripe(Int, of: Int)
            case everything
        }

        /// The look for a whole picture, such as the first one.
        static let atAll = Look(takesDamage: true, sweep: .everything)

        var takesDamage: Bool
        var sweep: Sweep
    }

    private static let stripes = 2
    private static let stripesAtRest = 8
    static let sweepInterval = Duration.seconds(1) / stripes
    /// A screen is at rest after this time without a change, unless its server ever missed drawing.
    static let calmTime = Duration.seconds(60)
    static let trustTime = Duration.seconds(5)
    /// After a move, the pointer is asked for at the frame rate for this time, in case a program moves it without
    /// events.
    static let restTime = Duration.milliseconds(250)

    private let interval: Duration
    private var rate: RateLimit
    private var lastLook: Instant?
    private var isDamaged = true
    private var pointerHasMoved = false
    private let hasDamage: Bool
    private let hasMotion: Bool
    /// Until when each frame's look is at the whole screen although the server reports damage.
    private var pollsUntil = Instant.start
    /// Until when the pointer is asked for with each frame although the server reports motion.
    private var asksPointerUntil = Instant.start
    private var sweepAt: Instant
    private var stripe = 0
    private var changedAt: Instant
    private var hasMissed = false

    /// - Parameters:
    ///   - hasDamage: whether the server reports damage. Without it the whole screen is polled.
    ///   - hasMotion: whether the server reports the pointer's motion, or the pointer does not matter.
    ///   - now: when the first look is due.
    init(interval: Duration, hasDamage: Bool, hasMotion: Bool, at now: Instant) {
        self.interval = interval
        rate = RateLimit(interval: interval, from: now)
        (self.hasDamage, self.hasMotion) = (hasDamage, hasMotion)
        (sweepAt, changedAt) = (now, now)
    }

    /// There was drawing, or may have been.
    mutating func noteDamage() { isDamaged = true }

    /// The pointer has moved or changed its image.
    mutating func notePointer() { pointerHasMoved = true }

    /// Whether a look waits for the frame rate. Until then no event of the server changes the schedule.
    var isWaiting: Bool { isDamaged || pointerHasMoved }

    func isSweepDue(at now: Instant) -> Bool { now >= sweepAt }

    var deadline: Instant {
        guard let lastLook else { return sweepAt }
        var deadline = max(sweepAt, lastLook + interval)
        if polls(after: lastLook) || asksPointer(after: lastLook) { deadline = min(deadline, lastLook + interval) }
        return isWaiting ? min(deadline, rate.earliest) : deadline
    }

    private func polls(after look: Instant) -> Bool { !hasDamage || look < pollsUntil }

    private func asksPointer(after look: Instant) -> Bool { !hasMotion || look < asksPointerUntil }

    /// The look to take now, if any.
    func due(at now: Instant) -> Look? {
        guard now >= deadline else { return nil }
        guard let lastLook else { return .atAll }
        let polls = polls(after: lastLook) && now >= lastLook + interval
        let sweep: Look.Sweep = polls ? .everything : now >= sweepAt ? stripe(at: now) : .none
        // A sweep may find a part of the damage, which must not be shown without the rest.
        return Look(takesDamage: isDamaged && (now >= rate.earliest || sweep != .none), sweep: sweep)
    }

    private func stripe(at now: Instant) -> Look.Sweep {
        let isAtRest = !hasMissed && now >= changedAt + Self.calmTime
        let count = isAtRest ? Self.stripesAtRest : Self.stripes
        return .stripe(stripe % count, of: count)
    }

    mutating func noteLook(_ look: Look, at now: Instant, _ sight: XSession.Sight) {
        lastLook = now
        if look.takesDamage { isDamaged = false }
        if sight.isDamaged { isDamaged = true }
        pointerHasMoved = false
        if sight.pointerMoved { asksPointerUntil = now + Self.restTime }
        if sight.isNew { changedAt = now }
        if sight.isMissed {
            hasMissed = true
            pollsUntil = now + Self.trustTime
        }
        if look.sweep != .none { sweepAt = now + Self.sweepInterval }
        var isMereStripe = false
        if case .stripe(let index, let count) = look.sweep {
            isMereStripe = !look.takesDamage
            stripe = (index + 1) % count
        }
        // A sweep in between without a find does not delay the next look.
        if sight.isNew || !isMereStripe { rate.note(at: now) }
    }
}

/// Counts sweeps that found a change without damage.
struct Misses {
    /// More misses in a row are no accident.
    private static let mostAccidents = 2

    private var count = 0
    private var last: Instant?
    private var isTold = false

    /// Records a miss. Returns whether to report misses to a person, once.
    mutating func noteMiss(at now: Instant) -> Bool {
        count = last.map { now < $0 + CaptureSchedule.trustTime } ?? false ? count + 1 : 1
        last = now
        guard count > Self.mostAccidents, !isTold else { return false }
        isTold = true
        return true
    }
}
