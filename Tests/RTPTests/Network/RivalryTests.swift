import TestSupport
import Testing
import Time

@testable import RTP

/// A flow beside a transfer by TCP that fills the queue until it overflows (RFC 8867 §5.6).
@Suite struct RivalryTests {
    private static let rate = 4e6

    private func network(queue: Int, delay: Int) -> NetworkSimulation {
        var network = NetworkSimulation(
            .init(rate: Self.rate, queue: .milliseconds(queue), delay: .milliseconds(delay)),
            [.video(framesPerSecond: 30, most: 2_500_000)]
        )
        network.feedbackDelay = .milliseconds(delay)
        return network
    }

    @Test(arguments: [100, 300, 600], [10, 20])
    func aTransferThatComesLaterLeavesAFairShare(queue: Int, delay: Int) {
        var network = network(queue: queue, delay: delay)
        network.run(for: .seconds(15))
        network.tcp = ModelTCP()
        network.run(for: .seconds(60))
        #expect(0.3 * Self.rate...0.7 * Self.rate ~= network.flows[0].rate(over: 35..<75))
        network.tcp = nil
        network.run(for: .seconds(20))
        // And the flow takes no more than before when it is alone again, with no queue.
        #expect(0.9 * 2.5e6...1.05 * 2.5e6 ~= network.flows[0].rate(over: 85..<94))
        #expect(network.flows[0].queueDelay(over: 85..<94, share: 0.95) <= .milliseconds(60))
    }

    /// What the link carries without the transfer is not known then. A queue that is shorter than the round trip is empty now and
    /// then, and tells of nobody.
    @Test(arguments: [(300, 20, true), (600, 50, true), (100, 50, false)])
    func aTransferStarvesNobody(queue: Int, delay: Int, isFirst: Bool) {
        var network = network(queue: queue, delay: delay)
        network.run(for: .seconds(isFirst ? 0 : 15))
        network.tcp = ModelTCP()
        network.run(for: .seconds(60))
        #expect(0.1 * Self.rate...0.7 * Self.rate ~= network.flows[0].rate(over: isFirst ? 20..<59 : 35..<74))
    }

    /// A queue of its own, and a way that has become longer, are no rivals.
    @Test func aFlowAloneHasNoRival() {
        var rivalry = Rivalry()
        for step in 0..<2000 { rivalry.note(step % 290 < 280 ? 35 : 5, rate: 1e6, at: Double(step * 10)) }
        #expect(!rivalry.isOn)
        for step in 2000..<2400 { rivalry.note(35, rate: 3e5, at: Double(step * 10)) }
        #expect(rivalry.isOn)
        #expect(rivalry.share == 0.5e6)
        rivalry.note(20, rate: 3e5, at: 24_000)
        #expect(rivalry.isOn)
        for time in [24_010.0, 28_000, 29_000] { rivalry.note(14, rate: 3e5, at: time) }
        #expect(rivalry.isOn)
        rivalry.note(14, rate: 3e5, at: 29_020)
        #expect(!rivalry.isOn)
        #expect(rivalry.share == nil)
    }
}
