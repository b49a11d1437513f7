import Time

/// Notices that the system's clock was set. The dates of files tell little of their ages then. Sans-IO.
struct ClockWatch {
    /// Time servers correct a clock by less.
    private static let leastStep = Duration.seconds(60)

    /// Between the two clocks.
    private var difference: Duration?
    /// By the clock that nobody sets.
    private var setAt: Duration?

    /// - Parameters:
    ///   - wall: the time since 1970, by the clock that can be set.
    ///   - running: the time since the machine's start, suspends included.
    /// - Returns: the age of which a file can be certain, whatever its date; nil for any.
    mutating func look(wall: Duration, running: Duration) -> Duration? {
        let now = wall - running
        if let difference, abs((now - difference) / .seconds(1)) >= Self.leastStep / .seconds(1) { setAt = running }
        difference = now
        return setAt.map { running - $0 }
    }
}
