import TestSupport
import Testing
import Time

@testable import RTP

@Suite struct LossLimitTests {
    private var limit = LossLimit()
    private var now = Instant.seconds(100)

    /// A judgement after half a second in which 500 packets were sent.
    private mutating func lose(_ share: Double, delivered: Double, of allowed: Double? = nil) {
        let lost = Int(share * 500)
        limit.note(arrived: 500 - lost, lost: lost, since: now)
        now += .milliseconds(500)
        limit.judge(delivered, of: allowed, at: now)
    }

    @Test mutating func aLittleLossIsNoCongestion() {
        for _ in 0..<20 { lose(0.04, delivered: 1_000_000) }
        #expect(limit.limit == nil)
    }

    @Test mutating func muchLossLimitsToWhatArrives() {
        lose(0.2, delivered: 800_000)
        #expect(limit.limit == 800_000)
        // It has helped: a quarter more a second.
        lose(0, delivered: 800_000)
        #expect(limit.limit == 900_000)
        // What is far from what arrives limits nothing.
        for _ in 0..<10 { lose(0, delivered: 800_000) }
        #expect(limit.limit == nil)
    }

    /// As on a radio link.
    @Test mutating func lossThatDoesNotComeFromTheRateIsTheLinksOwn() throws {
        lose(0.2, delivered: 800_000)
        lose(0.2, delivered: 640_000)
        #expect(limit.limit == 1_000_000, "what was sent before the cut")
        for _ in 0..<10 { lose(0.2, delivered: 800_000) }
        #expect(limit.limit == nil)
        // More than that is congestion.
        lose(0.5, delivered: 400_000)
        #expect(try #require(limit.limit) == 500_000, "a fifth of it is lost anyway")
    }

    @Test mutating func fewPacketsAndLittleTimeSayNothing() {
        limit.note(arrived: 5, lost: 14, since: now)
        limit.judge(1000, at: now + .seconds(10))
        #expect(limit.limit == nil)
        limit.note(arrived: 500, lost: 500, since: now)
        limit.judge(1000, at: now + .milliseconds(249))
        #expect(limit.limit == nil)
        limit.judge(1000, at: now + .milliseconds(250))
        #expect(limit.limit == 1000)
    }

    /// What fills little of the link says little of it.
    @Test mutating func aLinkThatIsNotFilledIsNotCutBelowHalf() {
        lose(0.2, delivered: 80_000, of: 1_000_000)
        #expect(limit.limit == 500_000)
        lose(0.2, delivered: 80_000, of: 1_000_000)
        #expect(limit.limit == 500_000, "and a second time")
    }

    @Test mutating func whatComesAfterAllWasNotLost() {
        for _ in 0..<80 { limit.noteArrival() }
        for _ in 0..<20 { limit.noteLoss() }
        for _ in 0..<25 { limit.takeBackLoss() }
        for _ in 0..<20 { limit.noteArrival() }
        limit.judge(1000, at: now)
        limit.judge(1000, at: now + .seconds(1))
        #expect(limit.limit == nil)
    }
}
