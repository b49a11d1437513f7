/// Holds a sequence of events to a rate, and lets each come up to half an interval early.
///
/// Without that slack, two loops that run at the same rate drift until each event of one waits a whole interval for the
/// other; with it the later loop follows the earlier one. It is the generic cell rate algorithm (ITU-T I.371 §A).
package struct RateLimit {
    package let interval: UInt64
    private var expected: UInt64 = 0

    /// - Parameter interval: nanoseconds between two events, on average at the least.
    package init(interval: UInt64) { self.interval = interval }

    /// The earliest instant of the next event.
    package var earliest: UInt64 { expected - min(expected, interval / 2) }

    /// An event happens at `now`, which is not before `earliest`.
    package mutating func note(at now: UInt64) { expected = max(expected, now) + interval }
}
