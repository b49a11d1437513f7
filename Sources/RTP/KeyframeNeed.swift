import Time

/// Whether one peer needs a keyframe, and when it may ask for it.
///
/// All viewers pay for a keyframe. A viewer that asks again and again is served at ever longer intervals, until it has not
/// asked for a while. One peer may ask for many viewers, each of which asks for the first time: it is served four times at
/// once, and then once a second. A request that comes while a keyframe is on its way is answered by that keyframe; where it
/// may be that of a viewer who came too late for it, only while it is being sent.
struct KeyframeNeed: Sendable {
    private enum Delivery {
        case none
        /// A part of the keyframe has been sent.
        case sending
        /// All of the keyframe has been sent, and the viewer shows it by this instant.
        case sent(shownAt: Instant)
    }

    /// What a keyframe is needed for.
    private enum Cause {
        /// What waited for the link was left out, or lost before it left.
        case link
        /// Somebody asks, or has come.
        case viewer
    }

    /// The interval between two keyframes for the same viewer, at first and at the most.
    private static let shortestInterval = Duration.seconds(1)
    private static let longestInterval = Duration.seconds(8)
    /// By how much keyframes for many viewers may come before their time: the shortest interval for each.
    private static let credit = Duration.seconds(3)
    /// The round trip that is assumed where none is known.
    private static let usualRoundTrip = Duration.milliseconds(100)

    /// Whether the peer asks for many viewers.
    private let isForMany: Bool
    /// Nil if none is needed.
    private var cause: Cause? = .viewer
    private var delivery = Delivery.none
    private var intervals = Backoff(shortestInterval...longestInterval)
    /// When the next keyframe may be asked for; nil for at once.
    private var earliest: Instant?

    init(isForMany: Bool = false) {
        self.isForMany = isForMany
        // What it gets for its viewers counts as the first one for its link.
        if isForMany { _ = intervals.fail() }
    }

    /// The viewer cannot go on without a keyframe.
    mutating func arise() { cause = cause ?? .viewer }

    /// The viewer cannot go on without a keyframe, and the one that was being sent does not reach it.
    mutating func ariseAnew() {
        cause = .link
        delivery = .none
    }

    /// The viewer says that it has lost the picture. Viewers repeat this until they have a keyframe.
    mutating func notePictureLoss(at now: Instant) {
        switch delivery {
        case .sending: break
        case .sent(let shownAt) where now < shownAt && !isForMany: break
        case .none, .sent: arise()
        }
    }

    /// The viewer goes on with a keyframe, which answers all requests so far.
    mutating func beginKeyframe() {
        cause = nil
        delivery = .sending
    }

    /// The last packet of a frame was sent.
    mutating func endFrame(at now: Instant, roundTripTime: Duration?) {
        guard case .sending = delivery else { return }
        delivery = .sent(shownAt: now + (roundTripTime ?? Self.usualRoundTrip))
    }

    /// Whether to make a keyframe for this viewer. The answer is given once.
    mutating func takeRequest(at now: Instant) -> Bool {
        guard let cause, earliest.map({ now >= $0 }) ?? true else { return false }
        self.cause = nil
        // A link that carries too little is one, whoever is behind it.
        earliest = isForMany && cause == .viewer ? nextForMany(after: now) : nextForOne(after: now)
        return true
    }

    private mutating func nextForOne(after now: Instant) -> Instant {
        let isContent = earliest.map { now - $0 >= Self.longestInterval } ?? true
        if isContent { intervals.succeed() }
        return now + intervals.fail()
    }

    private func nextForMany(after now: Instant) -> Instant {
        max(earliest ?? .start, now - Self.credit) + Self.shortestInterval
    }

    /// When `take` will next return true; nil while there is nothing to wait for. May lie in the past.
    var deadline: Instant? { cause == nil ? nil : earliest }
}
