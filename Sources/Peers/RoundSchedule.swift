import Time

/// When those things are due that the network thread does by the clock. Rounds come when they come: what is late is done once.
struct RoundSchedule {
    /// How often encoders learn what the links carry, and how often peers are placed by that on the ladder.
    static let (linkInterval, placingInterval) = (Duration.milliseconds(20), Duration.milliseconds(100))
    static let statusInterval = Duration.seconds(1)

    private var (linksAt, placedAt) = (Instant.start, Instant.start)
    private var measuredAt: Instant

    init(at now: Instant) { measuredAt = now }

    /// Whether links are to be looked at now.
    mutating func takeLinks(at now: Instant) -> Bool { Self.take(&linksAt, after: Self.linkInterval, at: now) }

    /// Whether peers are to be placed now.
    mutating func takePlacing(at now: Instant) -> Bool { Self.take(&placedAt, after: Self.placingInterval, at: now) }

    /// If others are to see peers anew: the time since they did last.
    mutating func takeStatus(at now: Instant) -> Duration? {
        let elapsed = now - measuredAt
        return Self.take(&measuredAt, after: Self.statusInterval, at: now) ? elapsed : nil
    }

    /// When others shall see peers anew.
    var statusAt: Instant { measuredAt + Self.statusInterval }

    private static func take(_ last: inout Instant, after interval: Duration, at now: Instant) -> Bool {
        guard now >= last + interval else { return false }
        last = now
        return true
    }
}
