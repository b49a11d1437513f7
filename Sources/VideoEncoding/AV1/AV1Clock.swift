import Time

/// The time that libaom is told, in milliseconds since the first frame: it refuses what needs more than 32 bits, which
/// nanoseconds do after four seconds. It learns from the differences only, so the time starts over after 49 days.
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
