import TestSupport
import Testing
import Time

@testable import RTP

@Suite struct ReachabilityTests {
    private var reachability = Reachability()

    /// A report a second, in each of which `highest` packets have arrived of `sent`.
    private mutating func report(_ seconds: ClosedRange<UInt64>, highest: (UInt64) -> UInt32?, sent: (UInt64) -> UInt64)
    {
        for time in seconds {
            report(time, highest: highest(time), sent: sent(time))
            let isLost = reachability.isLost(at: .seconds(Double(time)))
            #expect(!isLost, "second \(time)")
        }
    }

    private mutating func report(_ time: UInt64, of ssrc: UInt32 = 1, highest: UInt32?, sent: UInt64) {
        reachability.noteReport(now: .seconds(Double(time)))
        guard let highest else { return }
        reachability.noteArrival(in: ssrc, highest: highest, packetsSent: sent, now: .seconds(Double(time)))
    }

    @Test mutating func whoReportsAndReceivesStays() {
        report(1...100, highest: { UInt32($0) }, sent: { $0 })
    }

    @Test mutating func whoFallsSilentIsLost() {
        report(1...10, highest: { UInt32($0) }, sent: { $0 })
        #expect(reachability.deadline == .seconds(40))
        #expect(!reachability.isLost(at: .seconds(40) - .nanoseconds(1)))
        #expect(reachability.isLost(at: .seconds(40)))
    }

    /// This machine was suspended for a time after the last report, at 10 s: after as long as the peer may be silent, what it
    /// says must be read soon; a nap changes nothing.
    @Test(arguments: [(5, 40), (20, 40), (29, 40), (30, 17), (3600, 17)] as [(Int, Double)])
    mutating func whoWasSuspendedMissesTheSilent(seconds: Int, end: Double) {
        report(1...10, highest: { UInt32($0) }, sent: { $0 })
        reachability.slept(for: .seconds(seconds), now: .seconds(10))
        #expect(reachability.deadline == .seconds(end))
        // Whoever is heard stays.
        report(11, highest: 11, sent: 11)
        #expect(reachability.deadline == .seconds(41))
        // One that was about to be lost gets no more time by that.
        reachability.slept(for: .seconds(100), now: .seconds(40))
        #expect(reachability.deadline == .seconds(41))
    }

    @Test mutating func whoNeedNotReportIsNotLostBySuspends() {
        reachability.slept(for: .seconds(100), now: .seconds(1))
        #expect(reachability.deadline == nil)
    }

    /// GStreamer sends no reports while it asks for keyframes thirty times a second.
    @Test mutating func whoAsksForKeyframesIsThere() {
        report(1...10, highest: { UInt32($0) }, sent: { $0 })
        for time in 11...100 as ClosedRange<UInt64> { reachability.noteFeedback(now: .seconds(Double(time))) }
        #expect(!reachability.isLost(at: .seconds(100)))
        #expect(reachability.isLost(at: .seconds(130)))
    }

    /// Only a report says what arrives.
    @Test mutating func whoAsksForKeyframesIsNotStarvingForThat() {
        report(1...10, highest: { _ in 10 }, sent: { $0 * 30 })
        for time in 11...60 as ClosedRange<UInt64> { reachability.noteFeedback(now: .seconds(Double(time))) }
        #expect(!reachability.isLost(at: .seconds(60)))
        report(61, highest: 10, sent: 9000)
        #expect(reachability.isLost(at: .seconds(61)))
    }

    /// Some peers send one report, or none.
    @Test mutating func whoNeverReportsRegularlyNeedNot() {
        #expect(reachability.deadline == nil)
        report(1...1, highest: { _ in 1 }, sent: { $0 })
        #expect(reachability.deadline == nil)
        #expect(!reachability.isLost(at: .nanoseconds(.max)))
    }

    @Test mutating func whoReportsThatNothingArrivesIsLost() {
        report(1...10, highest: { UInt32($0) }, sent: { $0 * 30 })
        report(11...25, highest: { _ in 10 }, sent: { $0 * 30 })
        report(26, highest: 10, sent: 900)
        #expect(reachability.isLost(at: .seconds(26)))
    }

    @Test mutating func whoIsSentNothingStays() {
        report(1...10, highest: { UInt32($0) }, sent: { $0 })
        report(11...60, highest: { _ in 10 }, sent: { _ in 13 })
        report(61...70, highest: { _ in nil }, sent: { $0 })
    }

    /// The first report after a break says what was true when it began.
    @Test mutating func aBreakIsNotHeldAgainstAViewer() {
        report(1...10, highest: { UInt32($0) }, sent: { $0 * 30 })
        report(35...45, highest: { _ in 10 }, sent: { $0 * 30 })
        report(46...60, highest: { UInt32($0) }, sent: { $0 * 30 })
    }
}
