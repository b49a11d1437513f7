package import Time

/// Decides when the encoder should make a keyframe, from what receivers ask for.
///
/// The requests of all receivers are answered together: at most one keyframe in an interval, and one more ahead of its time,
/// so that a receiver that comes just after a keyframe does not wait. A request that comes too early is remembered.
package struct KeyframeRequests: Sendable {
    /// The time between keyframes on request, of which one may come at any time before its own.
    private static let interval = Duration.milliseconds(300)
    private var isPending = false
    /// When the next keyframe may be made.
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
        earliest = max(earliest, now - Self.interval) + Self.interval
    }

    /// From when on a requested keyframe may be made; nil while none is requested. May lie in the past.
    package var nextDeadline: Instant? { isPending ? earliest : nil }
}
