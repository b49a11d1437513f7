/// Limits events to a rate, and lets each come up to half an interval early.
///
/// Without that slack, two loops at the same rate drift until each event of one waits a whole interval for the other.
/// With it the later loop follows the earlier one. It is the generic cell rate algorithm (ITU-T I.371 §A).
package struct RateLimit {
    private let interval: Duration
    /// The regular time of the next event.
    private var expected: Instant

    /// - Parameters:
    ///   - interval: the shortest average time between two events.
    ///   - start: when the first event may come.
    package init(interval: Duration, from start: Instant) {
        self.interval = interval
        expected = start
    }

    /// The earliest instant of the next event.
    package var earliest: Instant { expected - interval / 2 }

    /// Records an event at `now`, which is not before `earliest`.
    package mutating func note(at now: Instant) { expected = max(expected, now) + interval }
}
