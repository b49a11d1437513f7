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

    @Test mutating func aLateEventStartsAnew() {
        limit.note(at: Self.at(1000))
        limit.note(at: Self.at(5000))
        #expect(limit.earliest == Self.at(5050))
    }
}
