import TestSupport
import Testing

@testable import RTP

/// Groups of one packet each, 20 ms apart.
@Suite struct DelayTrendTests {
    private static let interval = 20.0

    /// What the trend says after each group.
    ///
    /// - Parameter delay: of a group, in milliseconds.
    private func signals(_ count: Int, _ delay: (Int) -> Double) -> [DelayTrend.Signal] {
        var trend = DelayTrend()
        return (0..<count).map { group in
            let sentAt = Double(group) * Self.interval
            trend.add(Arrival(sentAt: sentAt, arrivedAt: sentAt + delay(group), size: 1000))
            return trend.signal
        }
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>) func jitterIsNoQueue(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let signals = signals(3000) { _ in 50 + Double.random(in: 0...2, using: &random) }
        #expect(signals.allSatisfy { $0 == .normal })
    }

    @Test(arguments: [(2.0, 20), (5, 15), (10, 12), (20, 10)])
    func aQueueThatGrowsIsToldSoon(growth: Double, groups: Int) throws {
        let signals = signals(200) { 50 + growth * Double(max($0 - 99, 0)) }
        let first = try #require(signals.firstIndex(of: .overuse))
        #expect(100..<100 + groups ~= first)
    }

    @Test func aQueueThatShrinksIsTold() {
        let signals = signals(300) { group in
            50 + 10 * Double(min(max(group - 99, 0), 30)) - 10 * Double(min(max(group - 159, 0), 30))
        }
        #expect(!signals[..<100].contains { $0 != .normal })
        #expect(signals[110..<130].allSatisfy { $0 == .overuse })
        #expect(signals[170..<190].allSatisfy { $0 == .underuse })
        #expect(signals[260...].allSatisfy { $0 == .normal })
    }

    /// Packets that overtook each other say nothing.
    @Test func aPacketThatWasOvertakenChangesNothing() {
        var trends = (DelayTrend(), DelayTrend())
        for group in 0..<100 {
            let sentAt = Double(group) * Self.interval
            let arrival = Arrival(sentAt: sentAt, arrivedAt: sentAt + 50, size: 1000)
            trends.0.add(arrival)
            trends.1.add(arrival)
            trends.1.add(Arrival(sentAt: sentAt - 1, arrivedAt: sentAt + 400, size: 1000))
            #expect(trends.0.signal == .normal && trends.1.signal == .normal)
        }
    }
}
