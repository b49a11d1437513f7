/// An instant of the program's one clock, CLOCK_MONOTONIC, which all processes of a machine share.
///
/// Arithmetic with durations stays within the range. A result before the clock's start is its start.
public struct Instant: InstantProtocol, Sendable {
    /// Nanoseconds since the clock's start, as in files of the bridge.
    public let nanoseconds: UInt64

    /// The clock's start: no instant is earlier.
    package static var start: Instant { Instant(nanoseconds: 0) }

    /// Milliseconds since the clock's start, with a fraction.
    package var milliseconds: Double { Double(nanoseconds) / 1e6 }

    /// - Parameter nanoseconds: since the clock's start.
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// The instant after a duration, which may be negative.
    public func advanced(by duration: Duration) -> Instant { advanced(byNanoseconds: duration.nanoseconds) }

    /// The instant after a step in nanoseconds, for loops without the 128 bits of a `Duration`.
    package func advanced(byNanoseconds step: Int64) -> Instant {
        let (sum, overflows) =
            step < 0
            ? nanoseconds.subtractingReportingOverflow(step.magnitude)
            : nanoseconds.addingReportingOverflow(step.magnitude)
        return Instant(nanoseconds: overflows ? (step < 0 ? 0 : .max) : sum)
    }

    /// Negative if `other` is earlier. Limited to 292 years.
    public func duration(to other: Instant) -> Duration {
        let distance = Int64(clamping: max(other, self).nanoseconds - min(other, self).nanoseconds)
        return .nanoseconds(other < self ? -distance : distance)
    }

    /// Whether the first instant is earlier.
    public static func < (first: Instant, second: Instant) -> Bool { first.nanoseconds < second.nanoseconds }

    /// The instant that much later.
    public static func + (instant: Instant, duration: Duration) -> Instant { instant.advanced(by: duration) }

    /// The instant that much earlier.
    public static func - (instant: Instant, duration: Duration) -> Instant { instant.advanced(by: .zero - duration) }

    /// The time from the second instant to the first; negative if the first is earlier.
    public static func - (first: Instant, second: Instant) -> Duration { second.duration(to: first) }

    /// Moves the instant that much later.
    public static func += (instant: inout Instant, duration: Duration) { instant = instant + duration }
}

/// The earliest of several instants; nil ones are ignored.
package func earliest(_ first: Instant?, _ second: Instant?, _ third: Instant? = nil, _ fourth: Instant? = nil)
    -> Instant?
{
    func earlier(_ one: Instant?, _ other: Instant?) -> Instant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }
    return earlier(earlier(first, second), earlier(third, fourth))
}
