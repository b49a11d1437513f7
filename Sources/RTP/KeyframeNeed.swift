/// Whether one viewer needs a keyframe, and when it may ask for it. Sans-IO: instants are nanoseconds of the capture clock.
///
/// All viewers pay for a keyframe. One who asks again and again is heard at ever longer intervals, until it has been
/// content for a while; and what it asks while a keyframe is on its way is answered by that one.
struct KeyframeNeed: Sendable {
    private enum Delivery {
        case none
        /// A part of the keyframe has been sent.
        case sending
        /// All of it has been sent, and the viewer shows it by then.
        case sent(shownAt: UInt64)
    }

    /// Nanoseconds between two keyframes for the same viewer, at first and at the most.
    private static let shortestInterval: UInt64 = 1_000_000_000
    private static let longestInterval: UInt64 = 8_000_000_000
    /// A round trip where none is known.
    private static let usualRoundTrip: UInt64 = 100_000_000

    private var isWanted = true
    private var delivery = Delivery.none
    private var interval = shortestInterval
    private var earliest: UInt64 = 0

    /// The viewer cannot go on without a keyframe.
    mutating func arise() { isWanted = true }

    /// The viewer cannot go on, and neither does the keyframe that was being sent.
    mutating func ariseAnew() {
        isWanted = true
        delivery = .none
    }

    /// The viewer says that it has lost the picture, which peers repeat until there is one.
    mutating func notePictureLoss(at now: UInt64) {
        switch delivery {
        case .sending: break
        case .sent(let shownAt) where now < shownAt: break
        case .none, .sent: isWanted = true
        }
    }

    /// The viewer goes on with a keyframe, which answers all requests so far.
    mutating func beginKeyframe() {
        isWanted = false
        delivery = .sending
    }

    /// The last packet of a frame was sent.
    mutating func endFrame(at now: UInt64, roundTripTime: UInt64?) {
        guard case .sending = delivery else { return }
        delivery = .sent(shownAt: now.adding(clamped: roundTripTime ?? Self.usualRoundTrip))
    }

    /// Whether to make a keyframe for this viewer. The answer is given once.
    mutating func take(at now: UInt64) -> Bool {
        guard isWanted, now >= earliest else { return false }
        let isContent = now >= earliest.adding(clamped: Self.longestInterval)
        interval = isContent ? Self.shortestInterval : min(interval * 2, Self.longestInterval)
        earliest = now.adding(clamped: interval)
        isWanted = false
        return true
    }

    /// When `take` will next return true; nil while there is nothing to wait for. May lie in the past.
    var deadline: UInt64? { isWanted && earliest > 0 ? earliest : nil }
}
