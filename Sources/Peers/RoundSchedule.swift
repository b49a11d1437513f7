import Time

/// The schedule of the network thread's periodic work. Late work is done once.
struct RoundSchedule {
    /// The intervals at which encoders get the capacities of links, and peers are placed on the ladder.
    static let (linkInterval, placingInterval) = (Duration.milliseconds(20), Duration.milliseconds(100))
    static let statusInterval = Duration.seconds(1)

    private var (linksAt, placedAt) = (Instant.start, Instant.start)
    private var measuredAt: Instant

    init(at now: Instant) { measuredAt = now }

    /// Whether capacities are due.
    mutating func takeLinks(at now: Instant) -> Bool { Self.take(&linksAt, after: Self.linkInterval, at: now) }

    /// Whether the placing of peers is due.
    mutating func takePlacing(at now: Instant) -> Bool { Self.take(&placedAt, after: Self.placingInterval, at: now) }

    /// The time since the last statuses, if new ones are due; else nil.
    mutating func takeStatus(at now: Instant) -> Duration? {
        let elapsed = now - measuredAt
        return Self.take(&measuredAt, after: Self.statusInterval, at: now) ? elapsed : nil
    }

    /// When the next statuses are due.
    var statusAt: Instant { measuredAt + Self.statusInterval }

    private static func take(_ last: inout Instant, after interval: Duration, at now: Instant) -> Bool {
        guard now >= last + interval else { return false }
        last = now
        return true
    }
}
