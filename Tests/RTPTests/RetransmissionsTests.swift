import Media
import TestSupport
import Testing
import Time

@testable import RTP

@Suite struct RetransmissionsTests {
    private var retransmissions = Retransmissions()
    private var budget = Pacer(pace: Retransmissions.budget(of: Pacer.Pace(rate: 100_000_000, burst: 1_000_000)))
    private let history: PacketHistory

    init() {
        var random = SplitMix(seed: 1)
        history = PacketHistory(codec: .vp8, maximumPayloadSize: 1000, capacity: 4000, using: &random)
        history.append(2000, isKeyframe: true, at: .start)
    }

    private mutating func request(_ index: UInt64, roundTripTime: Duration? = nil, at now: Instant) {
        retransmissions.request(index, roundTripTime: roundTripTime, budget: &budget, now: now)
    }

    /// Sends all that waits.
    private mutating func send(at now: Instant) -> [UInt64] {
        var sent: [UInt64] = []
        while let next = retransmissions.next(in: history) {
            retransmissions.noteSent(next, at: now)
            sent.append(next)
        }
        return sent
    }

    @Test mutating func whatIsAskedForIsSentOnce() {
        for index in [7, 3, 7, 3, 9] as [UInt64] { request(index, at: .seconds(1)) }
        #expect(send(at: .seconds(1)) == [7, 3, 9])
        #expect(send(at: .seconds(1)) == [])
    }

    /// It may still be on its way.
    @Test(arguments: [(nil, 10), (1, 10), (80, 80)] as [(Int?, Int)])
    mutating func aRequestWithinARoundTripIsARepetition(roundTripTime: Int?, patience: Int) {
        let roundTripTime = roundTripTime.map { Duration.milliseconds($0) }
        request(5, roundTripTime: roundTripTime, at: .seconds(1))
        #expect(send(at: .seconds(1)) == [5])
        let again = Instant.seconds(1) + .milliseconds(patience)
        request(5, roundTripTime: roundTripTime, at: again - .nanoseconds(1))
        #expect(send(at: again) == [])
        request(5, roundTripTime: roundTripTime, at: again)
        #expect(send(at: again) == [5])
    }

    /// Where much is lost, sending more makes it worse: a tenth of the pace, after a whole keyframe at once.
    @Test mutating func noMoreIsSentAgainThanTheLinkMayBear() {
        budget = Pacer(pace: Retransmissions.budget(of: Pacer.Pace(rate: 9_600_000, burst: 10_000)))
        for index in UInt64(0)..<500 { request(index, at: .seconds(1)) }
        #expect(send(at: .seconds(1)) == Array(0..<133))
        // 960 kb/s are a hundred packets of 1200 bytes a second.
        for index in UInt64(500)..<1000 { request(index, at: .seconds(1.5)) }
        #expect(49...51 ~= send(at: .seconds(1.5)).count)
    }

    @Test mutating func whatIsGoneIsNotSentAgain() {
        for index in [1, 2, 30] as [UInt64] { request(index, at: .seconds(1)) }
        retransmissions.forget(before: 10)
        request(3, at: .seconds(1))
        #expect(send(at: .seconds(1)) == [30])
        request(40, at: .seconds(1))
        retransmissions.removeAll()
        #expect(send(at: .seconds(1)) == [])
        request(40, at: .seconds(1))
        #expect(send(at: .seconds(1)) == [40], "it may be asked for again")
    }

    @Test mutating func aBoundedNumberWaits() {
        for index in UInt64(0)..<2000 { retransmissions.add(index) }
        #expect(send(at: .seconds(1)) == Array(0..<UInt64(Retransmissions.limit)))
    }
}
