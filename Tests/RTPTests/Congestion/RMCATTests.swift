import TestSupport
import Testing
import Time

@testable import RTP

/// The test cases of RFC 8867 that concern one bottleneck, 50 ms one way, and a queue of 300 ms. `RivalryTests` has §5.6.
@Suite struct RMCATTests {
    private static let video = NetworkSimulation.Source.video(framesPerSecond: 30, most: 4_000_000)

    private func network(_ rate: Double, flows: Int = 1) -> NetworkSimulation {
        let conditions = VirtualLink.Conditions(rate: rate, queue: .milliseconds(300), delay: .milliseconds(50))
        var network = NetworkSimulation(conditions, Array(repeating: Self.video, count: flows))
        network.feedbackDelay = .milliseconds(50)
        return network
    }

    /// Runs through rates of the link in Mb/s, each until a second of the whole.
    private func run(_ network: inout NetworkSimulation, _ phases: [(rate: Double, until: Int)]) {
        var second = 0
        for phase in phases {
            network.link.conditions.rate = phase.rate * 1e6
            network.run(for: .seconds(phase.until - second))
            second = phase.until
        }
    }

    /// §5.1: variable available capacity with a single flow.
    @Test func oneFlowFollowsTheCapacity() {
        var network = network(1e6)
        run(&network, [(1, 40), (2.5, 60), (0.6, 80), (1, 100)])
        let flow = network.flows[0]
        for (seconds, rate) in [(10..<40, 1.0), (50..<60, 2.5), (65..<80, 0.6), (90..<99, 1)] {
            #expect(0.7 * rate * 1e6...1.05 * rate * 1e6 ~= flow.rate(over: seconds), "\(seconds)")
            #expect(flow.queueDelay(over: seconds, share: 0.95) <= .milliseconds(150), "\(seconds)")
        }
    }

    /// §5.2: the same with two flows.
    @Test func twoFlowsFollowTheCapacity() {
        var network = network(4e6, flows: 2)
        run(&network, [(4, 25), (2, 50), (3.5, 75), (1, 100), (2, 125)])
        for (seconds, rate) in [(10..<25, 4.0), (35..<50, 2), (60..<75, 3.5), (85..<100, 1), (110..<124, 2)] {
            let rates = network.flows.map { $0.rate(over: seconds) }
            #expect(0.65 * rate * 1e6...1.05 * rate * 1e6 ~= rates.reduce(0, +), "\(seconds)")
            #expect(rates.min()! >= 0.2 * rates.max()!, "\(seconds)")
        }
    }

    /// §5.3, as far as it concerns the way of the media: its feedback comes late while the way back is congested.
    @Test func lateFeedbackIsNoCongestion() {
        var network = network(2e6)
        network.run(for: .seconds(20))
        network.feedbackDelay = .milliseconds(350)
        network.run(for: .seconds(20))
        network.feedbackDelay = .milliseconds(50)
        network.run(for: .seconds(20))
        for seconds in [10..<20, 25..<40, 45..<59] {
            #expect(network.flows[0].rate(over: seconds) >= 0.6 * 2e6, "\(seconds)")
        }
    }

    /// §5.4: three flows that begin 20 s after each other; §5.8: then one pauses for 20 s.
    @Test func flowsComeAndPauseAndShare() {
        var network = network(3.5e6, flows: 3)
        for index in 1...2 { network.flows[index].frameAt += .seconds(20 * index) }
        network.run(for: .seconds(100))
        var rates = network.flows.map { $0.rate(over: 70..<99) }
        #expect(0.65 * 3.5e6...1.05 * 3.5e6 ~= rates.reduce(0, +))
        // A flow that comes later takes a minute and more to its share.
        #expect(rates.min()! >= 0.3 * rates.max()!, "\(rates)")
        network.flows[1].source = .pages(bytes: 100, every: .seconds(2))
        network.run(for: .seconds(20))
        network.flows[1].source = Self.video
        network.run(for: .seconds(100))
        rates = network.flows.map { $0.rate(over: 180..<219) }
        #expect(rates.min()! >= 0.3 * rates.max()!, "\(rates)")
    }

    /// §5.5: round trip time fairness, one way from 10 to 150 ms.
    @Test func aLongWayIsNoDisadvantage() {
        var network = network(4e6, flows: 5)
        network.link.conditions.delay = .milliseconds(10)
        network.feedbackDelay = .milliseconds(10)
        for (index, delay) in [0, 15, 40, 90, 140].enumerated() {
            network.flows[index].extraDelay = .milliseconds(delay)
        }
        network.run(for: .seconds(150))
        let rates = network.flows.map { $0.rate(over: 90..<149) }
        #expect(rates.min()! >= 0.3 * rates.max()!, "\(rates)")
    }

    /// §5.7: beside ten clients that get files by TCP, of which two begin at once. Together they ask for more than the link carries.
    @Test(arguments: 1...5) func filesOfOthersStarveNobody(seed: UInt64) {
        var network = network(2e6)
        network.transfers = (0..<10).map { index in
            ModelTCP(filesFrom: network.now, beginsWithPause: index >= 2, seed: seed * 100 + UInt64(index))
        }
        network.run(for: .seconds(300))
        let others = Double(network.transfers.map(\.bytesArrived).reduce(0, +)) * 8 / 300
        let rate = network.flows[0].rate(over: 10..<299)
        #expect(rate >= 0.1 * 2e6)
        #expect(rate + others >= 0.9 * 2e6)
        #expect(network.transfers.allSatisfy { $0.filesArrived >= 5 })
    }
}
