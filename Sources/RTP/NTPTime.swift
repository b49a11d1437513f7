package import Time

/// Wall-clock time as in sender reports: seconds since 1900 in the upper half, their fraction in the lower
/// (RFC 3550 §4).
package struct NTPTime: Equatable, Sendable {
    package var rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// - Parameter unixTime: nanoseconds since 1970.
    package init(unixTime: UInt64) {
        let seconds = unixTime / 1_000_000_000 &+ 2_208_988_800
        let fraction = ((unixTime % 1_000_000_000) << 32) / 1_000_000_000
        rawValue = seconds << 32 | fraction
    }

    /// The middle 32 bits, in 1/65536 s, by which a receiver names a sender report.
    package var middle: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 16) }
}

/// The two clocks at one instant.
package struct ClockReading: Equatable, Sendable {
    package var monotonic: Instant
    /// Nanoseconds since 1970.
    package var wall: UInt64

    package init(monotonic: Instant, wall: UInt64) {
        self.monotonic = monotonic
        self.wall = wall
    }

    /// The time of the wall clock at another instant, if nobody sets the clock in between.
    package func ntpTime(at instant: Instant) -> NTPTime {
        NTPTime(unixTime: wall &+ (instant.nanoseconds &- monotonic.nanoseconds))
    }
}
