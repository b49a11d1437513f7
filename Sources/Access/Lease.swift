import Time

/// The time for which a participant may stay, unless it asks for more. Sans-IO.
package struct Lease: Sendable {
    /// Seconds of a lease, and of an extension.
    package static let lengths = 1...65_535
    /// How long before the end that is told: half of a lease that is shorter than a minute.
    static let longestWarning = Duration.seconds(30)
    /// Of extensions. Several may come at once, as from a page and a program that share a session.
    private static let (interval, slack) = (Duration.seconds(1), Duration.seconds(9))

    private(set) var end: Instant
    /// When the end is told; nil once it was.
    private var warningAt: Instant?
    /// The time in suspends, when the end was set.
    private var asleep: Duration
    private var rate: RateLimit

    /// - Parameter asleep: the time that the machine has spent in suspends so far.
    init(_ length: Duration, asleep: Duration, at now: Instant) {
        (end, self.asleep) = (now + length, asleep)
        warningAt = end - min(Self.longestWarning, length / 2)
        rate = RateLimit(interval: Self.interval, slack: Self.slack, from: now)
    }

    /// Of the warning, or the end.
    var deadline: Instant { warningAt.map { min($0, end) } ?? end }

    /// Whether the end is to be told now, which is once after each extension.
    mutating func takeWarning(at now: Instant) -> Bool {
        guard let warningAt, now >= warningAt else { return false }
        self.warningAt = nil
        return true
    }

    /// Makes it last for a time from now on, if that is longer.
    ///
    /// - Returns: nil if there was another extension too short a time ago.
    mutating func extend(by length: Duration, asleep: Duration, at now: Instant) -> Instant? {
        guard now >= rate.earliest else { return nil }
        rate.note(at: now)
        noteSleep(asleep)
        if now + length > end {
            end = now + length
            warningAt = end - min(Self.longestWarning, length / 2)
        }
        return end
    }

    /// When another extension is possible.
    var nextExtension: Instant { rate.earliest }

    /// The machine was suspended, and this clock stood still. What was set after that has its time.
    mutating func noteSleep(_ asleep: Duration) {
        let time = asleep - self.asleep
        guard time > .zero else { return }
        self.asleep = asleep
        end = end - time
        warningAt = warningAt.map { $0 - time }
    }
}
