import TestSupport
import Testing
import Time

@testable import RTP

/// The estimator against links in virtual time. A source that could use more than the link carries has to find the link's
/// rate, keep the queue short, and share.
@Suite struct BandwidthEstimatorTests {
    private static let video = NetworkSimulation.Source.video(framesPerSecond: 30, most: 12_500_000)

    struct Link: Sendable, CustomTestStringConvertible {
        var rate: Double
        var delay: Duration
        var testDescription: String { "\(rate / 1e6) Mb/s, \(delay)" }
    }

    static let links = [0.3, 0.5, 1, 2, 5, 10].flatMap { rate in
        [5, 20, 100].map { Link(rate: rate * 1e6, delay: .milliseconds($0)) }
    }

    @Test(arguments: links) func theRateOfALinkIsFound(link: Link) {
        var network = NetworkSimulation(.init(rate: link.rate, delay: link.delay), [Self.video])
        network.feedbackDelay = link.delay
        network.run(for: .seconds(30))
        let flow = network.flows[0]
        for second in flow.seconds.dropFirst(5) { #expect(0.7 * link.rate...1.05 * link.rate ~= second.estimate) }
        #expect(flow.rate(over: 10..<29) >= 0.7 * link.rate)
        #expect(flow.queueDelay(over: 5..<29, share: 0.95) <= .milliseconds(150))
    }

    /// 5, 0.5 and 5 Mb/s, as of a train that enters a tunnel.
    @Test func aDropIsFollowedAtOnceAndARiseWithinSeconds() {
        var network = NetworkSimulation(.init(rate: 5e6), [.video(framesPerSecond: 30, most: 2_500_000)])
        network.run(for: .seconds(20))
        network.link.conditions.rate = 0.5e6
        network.run(for: .seconds(20))
        network.link.conditions.rate = 5e6
        network.run(for: .seconds(20))
        let flow = network.flows[0]
        #expect(flow.rate(over: 10..<19) >= 2.2e6)
        for second in flow.seconds[23..<39] { #expect(second.estimate <= 0.55e6) }
        #expect(flow.rate(over: 25..<39) >= 0.35e6)
        #expect(flow.queueDelay(over: 20..<39, share: 0.95) <= .milliseconds(300))
        #expect(flow.queueDelay(over: 21..<24, share: 0.95) <= .milliseconds(60))
        #expect(flow.rate(over: 45..<59) >= 2.25e6)
    }

    /// Film that the encoder cannot make smaller, so that pictures are left out.
    @Test(arguments: [0.45e6, 0.55e6, 0.7e6, 1e6], [20, 30])
    func whatIsTooLargeForTheLinkKeepsNoQueue(least: Double, framesPerSecond: Int) {
        var network = NetworkSimulation(
            .init(rate: 5e6, queue: .seconds(2)),
            [.video(framesPerSecond: framesPerSecond, least: least, most: 2_500_000)]
        )
        network.run(for: .seconds(20))
        network.link.conditions.rate = 0.5e6
        network.run(for: .seconds(60))
        let flow = network.flows[0]
        for second in flow.seconds[23..<79] { #expect(second.estimate <= 0.55e6) }
        #expect(flow.rate(over: 25..<79) >= 0.35e6)
        #expect(flow.queueDelay(over: 22..<79, share: 0.95) <= .milliseconds(150))
    }

    @Test(arguments: [0.01, 0.03, 0.05]) func randomLossIsNoCongestion(share: Double) {
        var network = NetworkSimulation(.init(rate: 5e6, loss: .random(share)), [Self.video])
        network.run(for: .seconds(30))
        for second in network.flows[0].seconds.dropFirst(5) { #expect(second.estimate >= 0.7 * 5e6) }
    }

    /// A link that loses much at any rate is used all the same.
    @Test func muchLossIsNoCongestionIfLessDoesNotHelp() {
        var network = NetworkSimulation(.init(rate: 3e6, loss: .random(0.3)), [Self.video])
        network.run(for: .seconds(40))
        #expect(network.flows[0].rate(over: 10..<39) >= 0.5 * 3e6)
    }

    /// Packets that overtake each other or come twice say little, but nothing wrong.
    @Test func disorderIsNoCongestion() {
        var network = NetworkSimulation(
            .init(rate: 3e6, jitter: .milliseconds(20), reorders: true, duplication: 0.05),
            [Self.video]
        )
        network.run(for: .seconds(40))
        #expect(network.flows[0].rate(over: 10..<39) >= 0.45 * 3e6)
    }

    @Test func burstsOfLossAreNoCongestion() {
        var network = NetworkSimulation(.init(rate: 5e6, loss: .bursts(good: 200, bad: 2)), [Self.video])
        network.run(for: .seconds(30))
        for second in network.flows[0].seconds.dropFirst(5) { #expect(second.estimate >= 0.7 * 5e6) }
    }

    /// What does not fit is dropped at once, and nothing is delayed: only loss tells.
    @Test func aLinkWithoutAQueueIsFoundByItsLoss() {
        var network = NetworkSimulation(.init(rate: 2e6, queue: .milliseconds(10)), [Self.video])
        network.run(for: .seconds(40))
        let flow = network.flows[0]
        #expect(flow.rate(over: 10..<39) >= 0.7 * 2e6)
        let sent = flow.seconds[10..<39].reduce(0) { $0 + $1.estimate } / 29
        #expect(sent <= 1.2 * 2e6)
    }

    @Test(arguments: [5, 15, 30]) func jitterIsNoQueue(milliseconds: Int) {
        var network = NetworkSimulation(
            .init(rate: 3e6, jitter: .milliseconds(milliseconds)),
            [.video(framesPerSecond: 30, most: 2_500_000)]
        )
        network.run(for: .seconds(30))
        #expect(network.flows[0].rate(over: 10..<29) >= 0.6 * 2.5e6)
    }

    /// A still screen says nothing about the link: what was known of it is neither forgotten nor exceeded.
    @Test func silenceChangesNothing() {
        var network = NetworkSimulation(.init(rate: 2e6), [Self.video])
        network.run(for: .seconds(20))
        let before = network.flows[0].estimator.estimate
        network.flows[0].source = .pages(bytes: 100, every: .seconds(2))
        network.run(for: .seconds(60))
        #expect(0.9 * before...1.1 * before ~= network.flows[0].estimator.estimate)
    }

    /// A page is sent at the rate of the link, and tells what that is.
    @Test func pagesAfterRestTellTheRate() {
        var network = NetworkSimulation(.init(rate: 2e6), [.pages(bytes: 60_000, every: .seconds(10))])
        network.run(for: .seconds(45))
        let flow = network.flows[0]
        #expect(0.7 * 2e6...1.05 * 2e6 ~= flow.estimator.estimate)
        #expect(flow.queueDelay(over: 20..<44, share: 1) <= .milliseconds(150))
    }

    @Test func threeFlowsShareALink() {
        var network = NetworkSimulation(.init(rate: 3e6), Array(repeating: Self.video, count: 3))
        network.run(for: .seconds(120))
        let rates = network.flows.map { $0.rate(over: 40..<119) }
        let mean = rates.reduce(0, +) / 3
        for rate in rates { #expect(0.75 * mean...1.25 * mean ~= rate) }
        #expect(mean * 3 >= 0.7 * 3e6)
    }

    /// A busy peer reads many packets at once, so that they measure nothing, and tells of them late: still no more than has arrived
    /// may be on its way beyond the first packets.
    @Test func whatArrivedMakesRoomBeforeTheLinkIsMeasured() {
        var estimator = BandwidthEstimator(start: 5e6, ceiling: 5e6)
        var now = Instant.seconds(5)
        func send() -> Int {
            var size = 0
            while estimator.roomAt(now) == nil {
                estimator.noteSent(size: 1000, followsAtOnce: true, at: now)
                size += 1000
                now += .milliseconds(1)
            }
            return size
        }
        let sizes = (0..<6).map { report in
            let number = estimator.nextNumber
            let size = send()
            now += .milliseconds(200)
            estimator.receive(
                TransportFeedback(
                    sender: 1,
                    media: 2,
                    number: UInt8(report),
                    first: number,
                    times: Array(repeating: 1000 * UInt32(report), count: size / 1000)
                ),
                now: now
            )
            return size
        }
        #expect(!estimator.isMeasured)
        #expect(sizes == [24_000, 48_000, 96_000, 192_000, 224_000, 224_000])
    }

    /// Feedback that lies ends in no crash, no more memory and no more than the ceiling.
    @Test func lyingFeedbackIsHarmless() {
        var random = SplitMix(seed: 7)
        var estimator = BandwidthEstimator(start: 1e6, ceiling: 12.5e6)
        var now = Instant.seconds(5)
        for _ in 0..<3000 {
            now += .milliseconds(Int.random(in: 0...50, using: &random))
            for _ in 0..<Int.random(in: 0...10, using: &random) {
                estimator.noteSent(
                    size: .random(in: 1...1500, using: &random),
                    followsAtOnce: .random(using: &random),
                    at: now
                )
            }
            let arrivals: [UInt32?] = (0..<Int.random(in: 0...100, using: &random)).map { _ in
                Bool.random(using: &random) ? .random(in: 0 ... .max, using: &random) : nil
            }
            estimator.receive(
                TransportFeedback(
                    sender: 1,
                    media: 2,
                    number: .random(in: 0 ... .max, using: &random),
                    first: .random(in: 0 ... .max, using: &random),
                    times: arrivals
                ),
                now: now
            )
            #expect(BandwidthEstimator.floor...12.5e6 ~= estimator.estimate)
            #expect(estimator.pace <= 12.5e6 * 1.25)
        }
    }

    /// A receiver whose clock stands still takes no more memory for it.
    @Test func aClockThatStandsStillIsHarmless() {
        var delivery = DeliveryRate()
        for number in 0..<5000 { delivery.add(Arrival(sentAt: Double(number), arrivedAt: 7, size: 1200)) }
        #expect(delivery.arrivals.count == DeliveryRate.limit)
        #expect(delivery.rate == nil)
    }
}

extension NetworkSimulation.Flow {
    /// What arrived in some seconds, in bits a second.
    func rate(over seconds: Range<Int>) -> Double {
        Double(self.seconds[seconds].reduce(0) { $0 + $1.bytesArrived }) * 8 / Double(seconds.count)
    }

    /// What no more than a share of the packets waited for the link.
    func queueDelay(over seconds: Range<Int>, share: Double) -> Duration {
        let delays = self.seconds[seconds].flatMap(\.queueDelays).sorted()
        if delays.isEmpty { return .zero }
        return delays[min(delays.count - 1, Int(Double(delays.count) * share))]
    }
}
