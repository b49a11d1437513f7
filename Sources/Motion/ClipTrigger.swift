package import Time

/// Decides when a clip begins and ends, by the rules of Matter's push transports (Application Cluster Specification 1.5 §11.7). Sans-IO.
///
/// Motion begins a clip, which lasts for the initial time. Motion before its end adds the augmentation, and again only once the end that
/// was before has passed. After a clip, motion begins none for the blind time. A command begins one at any time.
package struct ClipTrigger {
    package struct Times: Equatable, Sendable {
        /// Each of them at least 1 s, but for `blind`, which may be zero.
        package var initial = Duration.seconds(10)
        package var augmentation = Duration.seconds(5)
        package var maximum = Duration.seconds(30)
        package var blind = Duration.seconds(30)

        package init() {}
    }

    package enum Cause: String, Sendable { case motion, command }

    package enum End: String, Sendable {
        /// Nothing has moved any more.
        case quiet
        /// It was as long as a clip may be.
        case maximum
        /// A person has switched clips off.
        case off
        case paused
        /// The recorder has ended.
        case ended
    }

    package enum Event: Equatable {
        case began(Cause, at: Instant)
        case ended(End, at: Instant)
    }

    private struct Clip {
        let cause: Cause
        let begin: Instant
        let maximum: Duration
        /// Its length as it stands, and as it stood before the last augmentation.
        var length: Duration
        var before = Duration.zero

        var end: Instant { begin + min(length, maximum) }
    }

    private enum State {
        case ready(blindUntil: Instant?)
        case running(Clip)
    }

    private let times: Times
    private var state = State.ready(blindUntil: nil)

    package init(_ times: Times) { self.times = times }

    package var isRunning: Bool { if case .running = state { true } else { false } }

    /// Of the clip that is written; nil without one.
    package var cause: Cause? { if case .running(let clip) = state { clip.cause } else { nil } }

    package func isBlind(at now: Instant) -> Bool {
        if case .ready(let blindUntil?) = state { now <= blindUntil } else { false }
    }

    /// When to call `turn`.
    package var deadline: Instant? {
        if case .running(let clip) = state { clip.end + .nanoseconds(1) } else { nil }
    }

    /// - Parameter instant: of the motion; not before that of an earlier call.
    package mutating func motion(at instant: Instant) -> [Event] {
        let events = turn(at: instant)
        switch state {
        case .ready(let blindUntil):
            if let blindUntil, instant <= blindUntil { return events }
            return events + begin(.motion, at: instant)
        case .running(var clip):
            let time = instant - clip.begin
            if time > clip.before {
                (clip.before, clip.length) = (clip.length, clip.length + times.augmentation)
                state = .running(clip)
            }
            return events
        }
    }

    /// A person or a program wants a clip, or the one that is running for longer.
    package mutating func command(at now: Instant) -> [Event] {
        let events = turn(at: now)
        guard case .running(var clip) = state else { return events + begin(.command, at: now) }
        clip.length = max(clip.length, now - clip.begin + times.initial)
        state = .running(clip)
        return events
    }

    package mutating func turn(at now: Instant) -> [Event] {
        guard case .running(let clip) = state, now > clip.end else { return [] }
        state = .ready(blindUntil: clip.cause == .motion ? clip.end + times.blind : nil)
        return [.ended(clip.length < clip.maximum ? .quiet : .maximum, at: clip.end)]
    }

    /// Ends a clip for another reason than its time. No blind time follows.
    package mutating func stop(_ reason: End, at now: Instant) -> [Event] {
        let events = turn(at: now)
        defer { state = .ready(blindUntil: nil) }
        return isRunning ? events + [.ended(reason, at: now)] : events
    }

    private mutating func begin(_ cause: Cause, at instant: Instant) -> [Event] {
        state = .running(Clip(cause: cause, begin: instant, maximum: times.maximum, length: times.initial))
        return [.began(cause, at: instant)]
    }
}
