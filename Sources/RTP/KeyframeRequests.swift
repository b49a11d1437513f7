package import Time

/// Decides when the encoder should make a keyframe, from what receivers ask for.
///
/// The requests of all receivers are answered together: at most one keyframe in the hold-off time. A request within it is
/// remembered and served when it ends.
package struct KeyframeRequests: Sendable {
    /// The shortest time between two keyframes on request.
    private static let holdOff = Duration.milliseconds(300)
    private var isPending = false
    /// When the hold-off ends.
    private var earliest = Instant.start
    /// Requests that came in.
    package private(set) var count: UInt64 = 0

    package init() {}

    /// A receiver needs a keyframe.
    package mutating func request() {
        isPending = true
        count += 1
    }

    /// A keyframe went out, on request or not: it answers all requests so far.
    package mutating func keyframeSent(at now: Instant) {
        isPending = false
        earliest = now + Self.holdOff
    }

    /// From when on a requested keyframe may be made; nil while none is requested. May lie in the past.
    package var nextDeadline: Instant? { isPending ? earliest : nil }
}
