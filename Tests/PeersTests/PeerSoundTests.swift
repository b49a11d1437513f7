import Media
import RTP
import TestSupport
import Testing
import Time

@testable import Peers

/// What sound takes of links, and what they leave for it.
@Suite struct PeerSoundTests {
    // MARK: - What links leave

    private func bitrate(_ links: [Double]) -> Int? { SoundCapacity(links).bitrate }

    @Test func nothingIsKnownOfNoLink() { #expect(bitrate([]) == nil) }

    /// Pictures have 100 kb/s before all, and half of the rest.
    @Test(arguments: [50_000, 117_000, 118_000, 200_000, 300_000, 500_000, 12.5e6])
    func soundGetsHalfOfWhatPicturesLeave(link: Double) throws {
        let found = bitrate([link])
        let bitrate = try #require(found)
        let expected = max(0, (0.85 * link - 100_000) / 2)
        #expect((expected - 4000...expected).contains(Double(bitrate)))
        #expect(bitrate >= 0)
    }

    @Test func theThinnestOfSimilarLinksDecides() {
        #expect(bitrate([400_000, 300_000, 350_000]) == bitrate([300_000]))
        #expect(bitrate([400_000, 210_000, 350_000]) == bitrate([210_000]))
    }

    /// One that carries less than half of what most do leaves the others what still sounds well.
    @Test func aBadLinkDoesNotSpoilItForTheOthers() {
        let good = Array(repeating: 4e6, count: 20)
        #expect(bitrate(good + [100_000]) == 48_000)
        #expect(bitrate(good + [220_000]) == 48_000)
        #expect(bitrate(good + [300_000]) == bitrate([300_000]))
        #expect(bitrate([100_000] + Array(repeating: 90_000, count: 3)) == 0)
    }

    @Test func smallChangesAreNone() {
        #expect(bitrate([300_000]) == bitrate([301_000]))
        #expect(bitrate([300_000])! % 4000 == 0)
    }

    // MARK: - What it takes

    /// Packets of 100 bytes, 50 a second.
    private func hear(_ sound: inout SharedSound, for milliseconds: Int, from start: Instant) -> Instant {
        for number in 0..<milliseconds / 20 {
            let now = start + EncodedSound.duration * number
            sound.append([UInt8](repeating: 1, count: 100), EncodedSound(capturedAt: now), now: now)
        }
        return start + .milliseconds(milliseconds)
    }

    @Test func itTakesWhatIsSentWithItsHeaders() {
        var sound = SharedSound()
        let start = Instant.seconds(9)
        #expect(sound.rate(at: start) == 0)
        var now = hear(&sound, for: 1000, from: start)
        #expect(50_000...56_000 ~= sound.rate(at: now))
        now = hear(&sound, for: 3000, from: now)
        #expect(50_000...56_000 ~= sound.rate(at: now))
        #expect(sound.history.end == 200)
    }

    @Test func silenceTakesNothing() {
        var sound = SharedSound()
        let now = hear(&sound, for: 2000, from: .seconds(9))
        #expect(sound.rate(at: now + .milliseconds(400)) > 0, "it may go on")
        #expect(sound.rate(at: now + .milliseconds(1100)) < 30_000)
        #expect(sound.rate(at: now + .seconds(3)) == 0)
        // It is known anew.
        let later = hear(&sound, for: 1500, from: now + .seconds(60))
        #expect(sound.rate(at: later) > 45_000)
    }
}
