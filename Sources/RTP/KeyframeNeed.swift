import Time

/// Whether one peer needs a keyframe, and when its next request is due.
///
/// All viewers pay for a keyframe. A viewer that keeps asking is served at ever longer intervals, until it has not
/// asked for a while. A peer that forwards asks for many viewers, each for the first time: it is served four times at
/// once, and then once a second. A keyframe on its way answers requests that come meanwhile. For a peer of many
/// viewers, it does so only while it is being sent: a later request may be of a viewer that came too late for it.
struct KeyframeNeed: Sendable {
    private enum Delivery {
        case none
        /// A part of the keyframe has been sent.
        case sending
        /// All of the keyframe has been sent. The viewer shows it by this instant.
        case sent(shownAt: Instant)
    }

    private enum Cause {
        /// Packets that waited for the link were left out, or lost before they left.
        case link
        /// A viewer asks, or has joined.
        case viewer
    }

    /// The shortest and the longest interval between keyframes for one viewer.
    private static let shortestInterval = Duration.seconds(1)
    private static let longestInterval = Duration.seconds(8)
    /// How early keyframes for many viewers may come: the shortest interval for each.
    private static let credit = Duration.seconds(3)

    /// Whether the peer asks for many viewers.
    private let isForMany: Bool
    /// Nil if no keyframe is needed.
    private var cause: Cause? = .viewer
    private var delivery = Delivery.none
    private var intervals = Backoff(shortestInterval...longestInterval)
    /// When the next keyframe may be asked for; nil for at once.
    private var earliest: Instant?

    init(isForMany: Bool = false) {
        self.isForMany = isForMany
        // The keyframe that a peer of many viewers gets counts as the first one for its link.
        if isForMany { _ = intervals.fail() }
    }

    /// The viewer cannot go on without a keyframe.
    mutating func arise() { cause = cause ?? .viewer }

    /// The viewer needs a keyframe, and the one that was being sent does not reach it.
    mutating func ariseAnew() {
        cause = .link
        delivery = .none
    }

    /// The viewer has lost the picture. Viewers repeat this until they have a keyframe.
    mutating func notePictureLoss(at now: Instant) {
        switch delivery {
        case .sending: break
        case .sent(let shownAt) where now < shownAt && !isForMany: break
        case .none, .sent: arise()
        }
    }

    /// The viewer goes on with a keyframe. It answers all requests so far.
    mutating func beginKeyframe() {
        cause = nil
        delivery = .sending
    }

    /// The last packet of a frame was sent.
    mutating func endFrame(at now: Instant, roundTripTime: Duration?) {
        guard case .sending = delivery else { return }
        delivery = .sent(shownAt: now + (roundTripTime ?? .usualRoundTrip))
    }

    /// Whether to make a keyframe for this viewer now. True comes once for a request.
    mutating func takeRequest(at now: Instant) -> Bool {
        guard let cause, earliest.map({ now >= $0 }) ?? true else { return false }
        self.cause = nil
        // Too slow a link is a single link, however many viewers are behind it.
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

    /// When `takeRequest` will next return true; nil while nothing is needed. May lie in the past.
    var deadline: Instant? { cause == nil ? nil : earliest }
}
