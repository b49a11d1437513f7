/// Limits events to a rate. Each may come early by a slack. If the slack is longer than the interval, several events may
/// come at once.
///
/// Without a slack, two loops at the same rate drift until each event of one waits a whole interval for the other.
/// With it the later loop follows the earlier one. It is the generic cell rate algorithm (ITU-T I.371 §A).
package struct RateLimit {
    private let interval: Duration
    private let slack: Duration
    /// The regular time of the next event.
    private var expected: Instant

    /// - Parameters:
    ///   - interval: the shortest average time between two events.
    ///   - slack: nil for half an interval.
    ///   - start: when the first event may come.
    package init(interval: Duration, slack: Duration? = nil, from start: Instant) {
        self.interval = interval
        self.slack = slack ?? interval / 2
        expected = start
    }

    /// The earliest instant of the next event.
    package var earliest: Instant { expected - slack }

    /// Records an event at `now`, which is not before `earliest`.
    package mutating func note(at now: Instant) { expected = max(expected, now) + interval }
}
