import Testing
import Time

@Suite struct RateLimitTests {
    private var limit = RateLimit(interval: .nanoseconds(100), from: at(1000))

    private static func at(_ nanoseconds: UInt64) -> Instant { Instant(nanoseconds: nanoseconds) }

    @Test mutating func eventsComeUpToHalfAnIntervalEarlyAndKeepTheRate() {
        #expect(limit.earliest <= Self.at(1000))
        limit.note(at: Self.at(1000))
        #expect(limit.earliest == Self.at(1050))
        limit.note(at: Self.at(1050))
        #expect(limit.earliest == Self.at(1150))
    }

    @Test func aLongSlackLetsEventsComeInBursts() {
        var limit = RateLimit(interval: .milliseconds(1), slack: .milliseconds(999), from: .start)
        func count(at now: Instant) -> Int {
            var count = 0
            while limit.earliest <= now {
                limit.note(at: now)
                count += 1
            }
            return count
        }
        #expect(count(at: Self.at(5_000_000_000)) == 1000)
        // A second brings as many again, and an idle hour no more.
        #expect(count(at: Self.at(5_100_000_000)) == 100)
        #expect(count(at: Self.at(3_605_000_000_000)) == 1000)
    }

    @Test mutating func aLateEventStartsAnew() {
        limit.note(at: Self.at(1000))
        limit.note(at: Self.at(5000))
        #expect(limit.earliest == Self.at(5050))
    }
}
