import TestSupport
import Testing
import Time

@testable import Sound

@Suite struct DeviceClockTests {
    private static let second: Int64 = 48_000
    private static let start = Instant.seconds(1000)

    /// When a device captures a sample whose clock is so much faster, in millionths.
    private func instant(of sample: Int64, drift: Double) -> Instant {
        Self.start + .seconds(Double(sample) / Double(Self.second) / (1 + drift / 1e6))
    }

    @Test func beforeTheFirstReportNothingIsKnown() {
        let clock = DeviceClock()
        #expect(clock.instant(of: 0) == nil && clock.isInDoubt)
    }

    /// Of a server whose reports are up to 4 ms late, for ten minutes.
    @Test(arguments: [-300.0, 0, 300], [1, 2] as [UInt64])
    func driftIsFollowed(drift: Double, seed: UInt64) throws {
        var (clock, random) = (DeviceClock(), SplitMix(seed: seed))
        for second in Int64(0)..<600 {
            let (sample, isDoubtful) = (second * Self.second, clock.isInDoubt)
            #expect(isDoubtful == (second < 10))
            let late = Duration.seconds(Double.random(in: 0...0.004, using: &random))
            clock.noteSample(sample, capturedAt: instant(of: sample, drift: drift) + late)
            guard second >= 120 else { continue }
            let found = try #require(clock.instant(of: sample))
            let error = (found - instant(of: sample, drift: drift)).seconds
            #expect(-0.004...0.004 ~= error, "after \(second) s")
        }
        // A device that is fast needs less time for a second.
        #expect(abs(clock.slope + drift / 1e6) < 0.00003)
        // A minute ahead.
        let later = 659 * Self.second
        let error = (try #require(clock.instant(of: later)) - instant(of: later, drift: drift)).seconds
        #expect(abs(error) < 0.008)
    }

    /// Samples of 50 ms are lost: three reports of that are believed, one or two are not.
    @Test func lostSamplesAreNoticed() {
        var clock = DeviceClock()
        func note(_ second: Int64, lateness: Duration = .zero) {
            clock.noteSample(second * Self.second, capturedAt: instant(of: second * Self.second, drift: 0) + lateness)
        }
        func error() -> Double {
            let sample = 100 * Self.second
            return clock.instant(of: sample).map { ($0 - instant(of: sample, drift: 0)).seconds } ?? .infinity
        }
        for second in Int64(0)..<20 { note(second) }
        for second in Int64(20)..<22 {
            note(second, lateness: .milliseconds(50))
            #expect(abs(error()) < 0.0001 && clock.isInDoubt)
        }
        // They were wrong.
        note(22)
        #expect(abs(error()) < 0.0001 && !clock.isInDoubt)
        for second in Int64(23)..<26 { note(second, lateness: .milliseconds(50)) }
        #expect(abs(error() - 0.05) < 0.0001 && clock.isInDoubt)
    }
}
