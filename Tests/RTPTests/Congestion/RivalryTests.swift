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
        network.transfers = [ModelTCP()]
        network.run(for: .seconds(60))
        #expect(0.3 * Self.rate...0.7 * Self.rate ~= network.flows[0].rate(over: 35..<75))
        network.transfers = []
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
        network.transfers = [ModelTCP()]
        network.run(for: .seconds(60))
        #expect(0.1 * Self.rate...0.7 * Self.rate ~= network.flows[0].rate(over: isFirst ? 20..<59 : 35..<74))
    }

    /// What was assumed at the start was never shown, and is no measure of a share.
    @Test(arguments: [1e6, 2e6, 4e6]) func aFairShareIsOneOfWhatWasShown(rate: Double) {
        var network = NetworkSimulation(
            .init(rate: rate, queue: .milliseconds(300), delay: .milliseconds(20)),
            [.video(framesPerSecond: 30, most: 12_500_000)],
            start: 12.5e6
        )
        network.run(for: .seconds(15))
        network.transfers = [ModelTCP()]
        network.run(for: .seconds(60))
        #expect(0.25 * rate...0.7 * rate ~= network.flows[0].rate(over: 35..<75))
    }

    /// Over a way that has become longer: no queue is there that others could keep.
    @Test func aLongerWayIsNoRival() {
        var network = network(queue: 300, delay: 20)
        network.flows[0].source = .video(framesPerSecond: 30, most: 4_000_000)
        network.run(for: .seconds(15))
        network.link.conditions.delay = .milliseconds(120)
        network.feedbackDelay = .milliseconds(120)
        network.run(for: .seconds(60))
        #expect(0.7 * Self.rate...1.05 * Self.rate ~= network.flows[0].rate(over: 50..<74))
        #expect(network.flows[0].queueDelay(over: 50..<74, share: 0.95) <= .milliseconds(150))
        // The link is measured as before.
        network.link.conditions.rate = 8e6
        network.flows[0].source = .video(framesPerSecond: 30, most: 8_000_000)
        network.run(for: .seconds(20))
        #expect(network.flows[0].rate(over: 85..<94) >= 0.7 * 8e6)
    }

    private func hold(_ queue: Double, for time: Double, from start: Double, _ rivalry: inout Rivalry) -> Bool {
        var isWay = false
        for step in 0..<Int(time / 10) where rivalry.noteQueue(queue, at: start + Double(step * 10)) {
            isWay = true
        }
        return isWay
    }

    /// What is left of a queue of one's own, after the link has become slower, is not what the queue was.
    @Test func aQueueThatShrinksIsItsOwn() {
        var rivalry = Rivalry()
        rivalry.note(speed: 5e6, at: 0)
        #expect(!hold(500, for: 2000, from: 0, &rivalry))
        for round in 0..<10 {
            #expect(!hold([16, 29][round % 2], for: 1000, from: 2000 + Double(round) * 1000, &rivalry))
        }
        #expect(!rivalry.isOn)
    }

    @Test func aQueueThatStaysIsKeptByOthers() {
        var rivalry = Rivalry()
        rivalry.note(speed: 1e6, at: 0)
        // Its own goes away.
        for round in 0..<10 {
            #expect(!hold(35, for: 2800, from: Double(round) * 3000, &rivalry))
            #expect(!hold(5, for: 200, from: Double(round) * 3000 + 2800, &rivalry))
        }
        #expect(!rivalry.isOn)
        #expect(!hold(35, for: 4000, from: 30_000, &rivalry))
        #expect(rivalry.isOn)
        #expect(rivalry.share == 0.5e6)
        // Others leave it empty for a moment.
        #expect(!hold(14, for: 4900, from: 34_000, &rivalry))
        #expect(rivalry.isOn)
        #expect(!hold(14, for: 200, from: 38_900, &rivalry))
        #expect(!rivalry.isOn)
        #expect(rivalry.share == nil)
        // What is always as long is no queue.
        #expect(!hold(100, for: 20_000, from: 40_000, &rivalry))
        #expect(rivalry.isOn)
        #expect(hold(105, for: 5000, from: 60_000, &rivalry))
    }
}
