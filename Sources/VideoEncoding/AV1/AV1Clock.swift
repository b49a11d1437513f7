import Time

/// The time for libaom, in milliseconds since the first frame. It refuses times of more than 32 bits, which nanoseconds
/// exceed after four seconds. It only uses differences of times, so the time may start over after 49 days.
struct AV1Clock {
    static let ticksPerSecond = 1000

    private var start: Instant?

    /// - Parameter instant: not earlier than the one before.
    mutating func ticks(_ instant: Instant) -> Int64 {
        let first = start ?? instant
        start = first
        return (instant - first).nanoseconds / 1_000_000 & Int64(UInt32.max)
    }
}
