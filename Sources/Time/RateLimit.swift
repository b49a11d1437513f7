/// Holds a sequence of events to a rate, and lets each come up to half an interval early.
///
/// Without that slack, two loops that run at the same rate drift until each event of one waits a whole interval for the
/// other; with it the later loop follows the earlier one. It is the generic cell rate algorithm (ITU-T I.371 §A).
package struct RateLimit {
    private let interval: Duration
    /// When the next event comes on time.
    private var expected: Instant

    /// - Parameters:
    ///   - interval: between two events, on average at the least.
    ///   - start: when the first event may come.
    package init(interval: Duration, from start: Instant) {
        self.interval = interval
        expected = start
    }

    /// The earliest instant of the next event.
    package var earliest: Instant { expected - interval / 2 }

    /// An event happens at `now`, which is not before `earliest`.
    package mutating func note(at now: Instant) { expected = max(expected, now) + interval }
}
