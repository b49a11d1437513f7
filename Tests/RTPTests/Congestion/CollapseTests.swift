import TestSupport
import Testing
import Time

@testable import RTP

/// Links that become much slower within a page, and links that pause and are not slow.
@Suite struct CollapseTests {
    private static let page = 60_000

    /// A queue of sixty packets and a round trip of 50 ms, over which pages have gone.
    private func begin(rate: Double, loss: VirtualLink.Loss = .none, seed: UInt64 = 1) -> StackSimulation {
        var stack = StackSimulation(
            .init(rate: rate, queue: .seconds(60), mostPackets: 60, delay: .milliseconds(25)),
            seed: seed
        )
        stack.append(bytes: Self.page, isKeyframe: true)
        stack.run(for: .seconds(3))
        stack.link.conditions.loss = loss
        for _ in 0..<3 {
            stack.append(bytes: Self.page)
            stack.run(for: .seconds(3))
        }
        return stack
    }

    struct Case: Sendable {
        var before: Double
        var after: Double
        var loss = 0.0
        var seed: UInt64 = 1
    }

    static let cases =
        [(20e6, 0.3e6), (2e6, 0.2e6), (10e6, 1e6)].map { Case(before: $0, after: $1) }
        + (1...5).map { Case(before: 20e6, after: 0.3e6, loss: 0.03, seed: $0) }

    /// The train that is on its way takes seconds to arrive; what it shows is believed after a fraction of one.
    @Test(arguments: cases) func aCollapseIsFollowedWhileATrainArrives(_ given: Case) throws {
        var stack = begin(rate: given.before, loss: .random(given.loss), seed: given.seed)
        let before = try #require(stack.bundle.estimator).estimate
        #expect(before >= 0.7 * min(given.before, 5 * Double(StackSimulation.target)))
        stack.append(bytes: 200_000)
        stack.run(for: .milliseconds(20))
        stack.link.conditions.rate = given.after
        stack.run(for: .milliseconds(350))
        #expect(try #require(stack.bundle.estimator).estimate <= before / 3)
        stack.run(for: .milliseconds(400))
        var estimates: ClosedRange<Double>?
        stack.run(for: .seconds(4), each: .milliseconds(50)) { stack in
            let estimate = stack.bundle.estimator?.estimate ?? 0
            estimates = min(estimates?.lowerBound ?? estimate, estimate)...max(estimates?.upperBound ?? 0, estimate)
        }
        let range = try #require(estimates)
        #expect(range.upperBound <= 1.25 * given.after)
        #expect(range.lowerBound >= 0.6 * given.after)
    }

    /// Most of what was sent for the fast link is lost in its queue. It holds nothing up that comes later, and the link does not idle.
    @Test func whatTheQueueDroppedHoldsNothingUp() throws {
        var stack = begin(rate: 20e6)
        stack.append(bytes: 150_000)
        stack.run(for: .milliseconds(20))
        stack.link.conditions.rate = 1e6
        stack.run(for: .milliseconds(250))
        stack.append(bytes: 20_000)
        stack.run(for: .seconds(5))
        #expect(try #require(stack.latencies.last ?? nil) <= .milliseconds(1100))
    }

    /// The smaller picture is there when the link has carried what is in its queue, and that picture; nothing is given up again.
    @Test(arguments: [(20e6, 0.3e6, 300_000), (20e6, 0.3e6, 500_000), (2e6, 0.2e6, 150_000)])
    func aPictureThatOutlivesItsLinkIsGivenUp(before: Double, after: Double, size: Int) throws {
        var stack = begin(rate: before)
        stack.append(bytes: size)
        stack.run(for: .milliseconds(20))
        stack.link.conditions.rate = after
        let began = stack.now
        var askedAt: Instant?
        var sentAt: Instant?
        stack.run(for: .seconds(12), each: .milliseconds(10)) { stack in
            if askedAt == nil, stack.bundle.takeKeyframeRequest(of: "0", at: stack.now) {
                askedAt = stack.now
                #expect(stack.bundle.backlog(at: stack.now) == .zero)
                stack.append(bytes: 40_000, isKeyframe: true)
            } else if askedAt != nil, sentAt == nil, stack.bundle.backlog(at: stack.now) == .zero {
                sentAt = stack.now
            }
        }
        #expect(try #require(askedAt) - began <= .milliseconds(400))
        #expect(try #require(sentAt) - began <= .seconds((72_000 + 40_000) * 8 / after) + .milliseconds(500))
        #expect(stack.bundle.streams[0].statistics.skips == 1)
    }

    /// What is soon there on the slower link, and what has nearly left, is not given up.
    @Test(arguments: [(20e6, 5e6, 300_000), (2e6, 0.2e6, 40_000), (20e6, 0.3e6, 80_000), (20e6, 20e6, 900_000)])
    func aPictureThatTheLinkCarriesIsSentToItsEnd(before: Double, after: Double, size: Int) throws {
        var stack = begin(rate: before)
        stack.append(bytes: size)
        stack.run(for: .milliseconds(20))
        stack.link.conditions.rate = after
        stack.run(for: .seconds(6))
        #expect(stack.bundle.streams[0].statistics.skips == 0)
        #expect(stack.bundle.backlog(at: stack.now) == .zero)
    }

    /// Pictures that always wait.
    @Test(arguments: [100, 200, 300], [0.5e6, 2e6, 5e6]) func aRadioThatPausesIsNotSlow(length: Int, rate: Double) {
        let pause = VirtualLink.Pause(length: .milliseconds(length))
        var network = NetworkSimulation(
            .init(rate: rate, queue: .seconds(60), mostPackets: 60, delay: .milliseconds(25), pause: pause),
            [.video(framesPerSecond: 30, most: 12_500_000)]
        )
        network.feedbackDelay = .milliseconds(25)
        network.run(for: .seconds(30))
        let flow = network.flows[0]
        #expect(flow.rate(over: 5..<29) >= 0.7 * rate)
        let estimates = flow.seconds.dropFirst(5).map(\.estimate)
        #expect(estimates.reduce(0, +) / Double(estimates.count) >= 0.75 * rate)
    }

    /// A page after rest, for which the link needs 600 ms.
    @Test(arguments: [100, 200, 300], [0.5e6, 2e6]) func aPageOverARadioThatPausesIsSoonThere(
        length: Int,
        rate: Double
    ) throws {
        var stack = begin(rate: rate)
        stack.link.conditions.pause = .init(length: .milliseconds(length))
        stack.run(for: .seconds(30), each: .milliseconds(3100)) { $0.append(bytes: Int(0.6 * rate / 8)) }
        stack.run(for: .seconds(3))
        for latency in stack.latencies.dropFirst(4) {
            #expect(try #require(latency) <= .milliseconds(700 + 2 * length))
        }
        #expect(try #require(stack.bundle.estimator).estimate >= 0.6 * rate)
    }
}

@Suite struct FullQueueTests {
    /// Packets of 1200 bytes that were all sent at once.
    private func speed(gaps: [Double], sentApart: Double = 0) -> Double? {
        var queue = FullQueue()
        var at = 25.0
        for (index, gap) in gaps.enumerated() {
            at += gap
            queue.add(Arrival(sentAt: Double(index) * sentApart, arrivedAt: at, size: 1200))
        }
        return queue.speed(over: FullQueue.shortestTime, base: 25)
    }

    @Test func sixPacketsTell() throws {
        #expect(speed(gaps: Array(repeating: 32, count: 5)) == nil)
        #expect(try #require(speed(gaps: Array(repeating: 32, count: 6))) == 300_000)
    }

    @Test func whatTakesShortTellsNothing() { #expect(speed(gaps: Array(repeating: 1, count: 60)) == nil) }

    @Test func theLongestGapDoesNotCount() throws {
        let gaps = Array(repeating: 5.0, count: 20) + [300] + Array(repeating: 5, count: 20)
        #expect(try #require(speed(gaps: gaps)) == 1200 * 8000 / 5)
    }

    /// They may arrive as slowly as they were sent.
    @Test func aQueueThatIsNotFullTellsNothing() {
        #expect(speed(gaps: Array(repeating: 32, count: 40), sentApart: 31) == nil)
    }

    @Test func fewAreKept() throws {
        #expect(try #require(speed(gaps: Array(repeating: 32, count: 1000))) == 300_000)
    }
}

@Suite struct OutlivedFramesTests {
    /// 100 kB wait at 300 kb/s.
    private func judge(_ outlived: inout OutlivedFrames, _ estimate: Double, sent: Double = 0, at seconds: Double)
        -> Bool
    {
        outlived.judge(waiting: 100_000, sentShare: sent, inFlight: 0, estimate: estimate, at: .seconds(seconds))
    }

    @Test func onlyALinkThatBecameSlowOutlivesAPicture() {
        var outlived = OutlivedFrames()
        for second in 1...20 { expect(!judge(&outlived, 300_000, at: Double(second))) }
        expect(!judge(&outlived, 3e6, at: 21))
        expect(judge(&outlived, 300_000, at: 21.2))
    }

    @Test func whatHasMostlyLeftIsNotGivenUp() {
        var outlived = OutlivedFrames()
        expect(!judge(&outlived, 3e6, at: 1))
        expect(!judge(&outlived, 300_000, sent: 0.6, at: 1.2))
    }

    /// A smaller picture must come through.
    @Test func nothingIsGivenUpTwiceForTheSameReason() {
        var outlived = OutlivedFrames()
        expect(!judge(&outlived, 3e6, at: 1))
        expect(judge(&outlived, 300_000, at: 1.2))
        for step in 1...100 { expect(!judge(&outlived, 300_000, at: 1.2 + Double(step) / 10)) }
        expect(judge(&outlived, 100_000, at: 11.3))
        expect(!judge(&outlived, 50_000, at: 12))
    }
}
