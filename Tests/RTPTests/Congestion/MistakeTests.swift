import TestSupport
import Testing
import Time

@testable import RTP

/// What holds of an estimator that is right, and of none that is wrong.
@Suite struct MistakeTests {
    /// Which expectations fail over a link of changing rate.
    private func failures(_ mistake: NetworkSimulation.Mistake?, seed: UInt64) -> [String] {
        var network = NetworkSimulation(
            .init(rate: 2e6, queue: .milliseconds(500), delay: .milliseconds(25), loss: .random(0.01)),
            [.video(framesPerSecond: 30, most: 4_000_000)],
            seed: seed
        )
        network.mistake = mistake
        var failures: [String] = []
        for (index, rate) in [2e6, 0.6e6, 3e6].enumerated() {
            network.link.conditions.rate = rate
            network.run(for: .seconds(20))
            let seconds = index * 20 + 8..<index * 20 + 19
            let flow = network.flows[0]
            if flow.rate(over: seconds) < 0.65 * rate { failures.append("starved at \(rate)") }
            if flow.queueDelay(over: seconds, share: 0.9) > .milliseconds(150) { failures.append("queue at \(rate)") }
            let estimates = flow.seconds[seconds].map(\.estimate).sorted()
            if !(0.65 * rate...1.1 * rate ~= estimates[estimates.count / 2]) { failures.append("estimate at \(rate)") }
        }
        return failures
    }

    @Test(arguments: 0..<6) func anEstimatorThatIsRightPasses(seed: UInt64) {
        #expect(failures(nil, seed: seed) == [])
    }

    @Test(arguments: NetworkSimulation.Mistake.allCases, [0, 1, 2] as [UInt64])
    func mistakesAreFound(mistake: NetworkSimulation.Mistake, seed: UInt64) {
        #expect(failures(mistake, seed: seed) != [])
    }
}
