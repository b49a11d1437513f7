import Posix
import Testing

@Suite struct RateLimitTests {
    @Test func eventsComeUpToHalfAnIntervalEarlyAndKeepTheRate() {
        var limit = RateLimit(interval: 100)
        #expect(limit.earliest == 0)
        limit.note(at: 1000)
        #expect(limit.earliest == 1050)
        limit.note(at: 1050)
        #expect(limit.earliest == 1150)
    }

    @Test func aLateEventStartsAnew() {
        var limit = RateLimit(interval: 100)
        limit.note(at: 1000)
        limit.note(at: 5000)
        #expect(limit.earliest == 5050)
    }
}
