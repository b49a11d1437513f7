import Media
import TestSupport
import Testing
import Time

@testable import RTP

/// Links whose receivers send nothing but reports, in virtual time.
@Suite struct ReportedRateTests {
    /// Frames as large as the link is said to carry, for a time.
    private func stream(_ stack: inout StackSimulation, for duration: Duration) {
        stack.run(for: duration, each: .milliseconds(33)) { stack in
            guard stack.bundle.backlog(at: stack.now) < .milliseconds(100) else { return }
            let rate = min(0.85 * (stack.bundle.linkRate ?? .infinity), Double(StackSimulation.target))
            stack.append(bytes: Int(rate / 8 / 30), isKeyframe: stack.bytesSent == 0)
        }
    }

    @Test(arguments: [0.0, 0.01, 0.03]) func aGoodLinkIsNotLimited(loss: Double) {
        var stack = StackSimulation(.init(rate: 20e6, delay: .milliseconds(60), loss: .random(loss)), telling: .reports)
        stream(&stack, for: .seconds(60))
        #expect(stack.bundle.linkRate.map { $0 > 2e6 } ?? true)
    }

    /// The first picture leaves at full pace; after that, reports tell.
    @Test(arguments: [0.3e6, 0.5e6, 1e6, 2e6], [0.3, 2.0]) func aThinLinkIsFound(rate: Double, queue: Double) throws {
        let conditions = VirtualLink.Conditions(rate: rate, queue: .seconds(queue), delay: .milliseconds(25))
        var stack = StackSimulation(conditions, telling: .reports)
        stream(&stack, for: .seconds(40))
        let before = stack.bytesSent
        let frames = stack.latencies.count
        stream(&stack, for: .seconds(60))
        let found = try #require(stack.bundle.linkRate)
        #expect(0.4 * rate...1.4 * rate ~= found)
        #expect(Double(stack.bytesSent - before) * 8 / 60 >= 0.4 * rate)
        let late = stack.latencies[frames...].dropLast(90).count { $0 ?? .seconds(99) > .seconds(queue + 0.5) }
        #expect(late <= (stack.latencies.count - frames) / 10)
    }

    /// Some receivers report each five seconds, as RFC 3550 has it: the second report after packets were lost tells.
    @Test(arguments: [0.5e6, 1e6]) func theSecondReportTells(rate: Double) throws {
        var stack = StackSimulation(
            .init(rate: rate, queue: .seconds(1), delay: .milliseconds(25)),
            telling: .rareReports
        )
        stream(&stack, for: .seconds(8))
        #expect(try #require(stack.bundle.linkRate) < 1.1 * rate)
        stream(&stack, for: .seconds(60))
        #expect(stack.latencies.suffix(900).dropLast(90).count { $0 ?? .seconds(9) < .seconds(1.5) } > 600)
    }

    @Test func aLinkThatIsGoodAgainIsUsedAgain() throws {
        var stack = StackSimulation(.init(rate: 0.5e6, queue: .seconds(1)), telling: .reports)
        stream(&stack, for: .seconds(30))
        #expect(try #require(stack.bundle.linkRate) < 0.8e6)
        stack.link.conditions.rate = 20e6
        stream(&stack, for: .seconds(60))
        #expect(stack.bundle.linkRate ?? .infinity > 2.5e6)
    }

    @Test(arguments: [0.0, 1, 1e4, 3e5, 9.3e18, 2.4e24]) func aPeersOwnEstimateIsACap(cap: Double) {
        var stack = StackSimulation(.init(rate: 20e6), telling: .reports)
        stack.bundle.receive(.maximumBitrate(cap), now: stack.now)
        let most = Double(5 * StackSimulation.target)
        #expect(stack.bundle.linkRate == min(max(cap, BandwidthEstimator.floor), most))
        stream(&stack, for: .seconds(10))
        #expect(Double(stack.bytesSent) * 8 / 10 <= max(BandwidthEstimator.floor, cap) * 1.2 + 40_000)
    }

    private func report(highest: UInt32, lost: Int32) -> ReportBlock {
        ReportBlock(
            ssrc: 1,
            fractionLost: 255,
            cumulativeLost: lost,
            highestSequenceNumber: highest,
            jitter: 0,
            lastSenderReport: highest,
            delaySinceLastSenderReport: 0
        )
    }

    /// Receivers of a multicast group lose different packets: their counts have nothing to do with each other.
    @Test func reportsOfSeveralReceiversAreNotCompared() {
        var rate = ReportedRate()
        for second in 0..<100 {
            for (reporter, lost) in [(1, 0), (2, 40 * second)] as [(UInt32, Int)] {
                rate.receive(
                    report(highest: UInt32(second * 100), lost: Int32(lost)),
                    from: reporter,
                    packets: UInt64(second * 100),
                    bytes: UInt64(second * 100_000),
                    roundTrip: .milliseconds(second * 10),
                    now: .seconds(Double(second + 1))
                )
            }
        }
        #expect(rate.rate == nil)
    }

    /// Whatever a receiver says, in whatever order: a rate of some sense or none.
    @Test(arguments: 0..<50) func liesAreHarmless(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var rate = ReportedRate()
        var now = Instant.seconds(1)
        var (packets, bytes): (UInt64, UInt64) = (0, 0)
        for _ in 0..<400 {
            now += .milliseconds(Int.random(in: 0...900, using: &random))
            packets += UInt64.random(in: 0...300, using: &random)
            bytes += UInt64.random(in: 0...400_000, using: &random)
            let trips: [Duration?] = [
                nil, .zero, .seconds(65_000), .milliseconds(Int.random(in: 0...3000, using: &random)),
            ]
            rate.receive(
                report(
                    highest: .random(in: 0...(.max), using: &random),
                    lost: .random(in: .min...(.max), using: &random)
                ),
                from: 1,
                packets: packets,
                bytes: bytes,
                roundTrip: trips.randomElement(using: &random)!,
                now: now
            )
            if let rate = rate.rate { #expect(rate >= BandwidthEstimator.floor && rate < .infinity) }
        }
    }
}
