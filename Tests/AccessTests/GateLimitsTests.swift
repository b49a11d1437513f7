import Access
import TestSupport
import Testing
import Time

@Suite struct GateLimitsTests {
    /// Who asks for as much as can be for an hour, from one network or one viewer after another of it.
    @Test func nobodyHasAddressesTriedWithoutEnd() {
        var gate = Gate(token: nil, viewerLimit: 50)
        var tried = 0
        var starts = 0
        for tick in 0..<36_000 {
            let now = Instant.seconds(0) + .milliseconds(100) * tick
            for _ in 0..<10 {
                starts += gate.mayStart("192.0.2.1", now: now) ? 1 : 0
                tried += gate.admit(64, of: "192.0.2.1", now: now)
            }
        }
        #expect(tried <= 512 + 3600)
        #expect(starts <= 100 + 4 * 3600)
        // Others have as much as before.
        let another = (
            gate.mayStart("192.0.2.2", now: .seconds(3600)), gate.admit(64, of: "192.0.2.2", now: .seconds(3600))
        )
        #expect(another == (true, 64))
    }

    /// As when the sender is started again.
    @Test(arguments: [1, 50, 1000])
    func allViewersMayComeAgainAtOnceFromOneAddress(viewerLimit: Int) {
        var gate = Gate(token: nil, viewerLimit: viewerLimit)
        let starts = (0..<2 * viewerLimit).map { _ in gate.mayStart("192.0.2.1", now: .seconds(0)) }
        #expect(!starts.contains(false))
    }

    @Test func aNetworkAsksToSpeakTenTimesAndThenEveryThreeSeconds() {
        var gate = Gate(token: nil, viewerLimit: 50)
        let first = (0..<12).map { _ in gate.waitToAsk("192.0.2.1", now: .start) }
        #expect(first == Array(repeating: nil, count: 10) + [4, 4])
        #expect(gate.waitToAsk("192.0.2.2", now: .start) == nil)
        let later = [2, 3, 4].map { gate.waitToAsk("192.0.2.1", now: .seconds($0)) }
        #expect(later == [2, nil, 3])
    }

    @Test func whatIsOfNoUseIsReadOnceASecondInTheLongRun() {
        var gate = Gate(token: nil, viewerLimit: 50)
        var read = 0
        for tick in 0..<6000 {
            let now = Instant.start + .milliseconds(10) * tick
            if gate.waitToBeRead("192.0.2.1", now: now) == nil {
                gate.noteUseless("192.0.2.1", now: now)
                read += 1
            }
            // Others, and those whose offers are of use, notice nothing.
            #expect(gate.waitToBeRead("192.0.2.2", now: now) == nil)
        }
        #expect(20...80 ~= read)
        let now = Instant.start + .seconds(60)
        gate.noteUseless("192.0.2.1", now: now)
        #expect(gate.waitToBeRead("192.0.2.1", now: now) != nil)
        #expect(gate.waitToBeRead("192.0.2.1", now: now + .seconds(1)) == nil)
    }
}
