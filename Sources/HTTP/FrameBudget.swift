import Time

/// Limits the frames of a WebSocket to a rate, with bursts. Pings, and fragments without payload, cost a server time
/// and their sender next to nothing. It is the generic cell rate algorithm (ITU-T I.371 §A). Sans-IO.
struct FrameBudget {
    /// Frames at once, and frames a second in the long run.
    static let (burst, rate) = (1000, 1000)
    private static let interval = Duration.seconds(1) / rate

    /// When all frames so far are paid for.
    private var paidAt = Instant.start

    /// Counts a frame.
    ///
    /// - Returns: false if there are too many.
    mutating func take(now: Instant) -> Bool {
        let next = max(paidAt, now) + Self.interval
        guard next <= now + Self.interval * Self.burst else { return false }
        paidAt = next
        return true
    }
}
