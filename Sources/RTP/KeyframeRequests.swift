package import Time

/// Decides when the encoder makes a keyframe that receivers ask for.
///
/// One keyframe answers the requests of all receivers. There is at most one in an interval, and one more ahead of its
/// time, so that a receiver that joins just after a keyframe does not wait. An early request is remembered.
package struct KeyframeRequests: Sendable {
    /// The time between keyframes on request. One of them may come ahead of its time.
    private static let interval = Duration.milliseconds(300)
    private var isPending = false
    /// When the next keyframe may be made.
    private var earliest = Instant.start
    /// Requests so far.
    package private(set) var count: UInt64 = 0

    package init() {}

    /// A receiver needs a keyframe.
    package mutating func request() {
        isPending = true
        count += 1
    }

    /// Records a keyframe, on request or not. It answers all requests so far.
    package mutating func keyframeSent(at now: Instant) {
        isPending = false
        earliest = max(earliest, now - Self.interval) + Self.interval
    }

    /// The earliest time of a requested keyframe; nil while none is requested. May lie in the past.
    package var nextDeadline: Instant? { isPending ? earliest : nil }
}
