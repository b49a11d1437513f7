import Posix
import TestSupport
import Testing
import Time

@testable import FrameBridge
@testable import Sound

/// Sounds that are played beside voices.
@Suite struct ChimeTests {
    private func play(_ mixer: TalkMixer, _ count: Int) -> [Int16] {
        var samples = [Int16](repeating: 77, count: count)
        samples.withUnsafeMutableBufferPointer { mixer.play(into: $0) }
        return samples
    }

    @Test func itIsPlayedOnceAndThenReplaced() {
        let mixer = TalkMixer()
        mixer.ring([1, 2, 3, 4, 5], at: MonotonicClock.now())
        #expect(play(mixer, 3) == [1, 2, 3] && play(mixer, 4) == [4, 5, 0, 0] && play(mixer, 2) == [0, 0])
        mixer.ring([1, 2, 3], at: MonotonicClock.now())
        #expect(play(mixer, 1) == [1])
        mixer.ring([9, 8], at: MonotonicClock.now())
        #expect(play(mixer, 4) == [9, 8, 0, 0])
    }

    /// Beside a voice, and with the volume of voices.
    @Test func itIsMixed() {
        let mixer = TalkMixer()
        let now: Instant = MonotonicClock.now()
        _ = mixer.setSenders([5], isPossible: true)
        let block = SoundBlock(number: 0, capturedAt: now, channels: 1, follows: false)
        _ = mixer.append(block, [Int16](repeating: 100, count: 480).span, of: 5, at: now)
        mixer.ring([Int16](repeating: 30_000, count: 480), at: now)
        #expect(play(mixer, 2) == [30_100, 30_100])
        mixer.setGain(0.5)
        #expect(play(mixer, 1) == [15_050])
        mixer.setGain(1.2)
        #expect(play(mixer, 1) == [32_767])
        // A sender that ends takes its voice along, and no chime.
        _ = mixer.setSenders([], isPossible: false)
        mixer.setGain(1)
        #expect(play(mixer, 1) == [30_000])
    }

    /// The speakers open for as long as it takes, and stay open for a while.
    @Test func theSpeakersOpenForIt() {
        let mixer = TalkMixer()
        let now: Instant = MonotonicClock.now()
        #expect(!mixer.talk(at: now).isPossible && !mixer.talk(at: now).isHeard)
        mixer.ring([Int16](repeating: 1, count: 96_000), at: now)
        for (after, isHeard) in [(0.0, true), (1.9, true), (6.9, true), (7.1, false)] {
            #expect(mixer.talk(at: now + .seconds(after)).isHeard == isHeard, "\(after)")
        }
    }

    /// Where no speakers open in time, or they are lost, the rest is not played later.
    @Test func itDoesNotWaitForLong() {
        let mixer = TalkMixer()
        let now: Instant = MonotonicClock.now()
        mixer.ring([1, 2], at: now - .seconds(3))
        #expect(play(mixer, 2) == [0, 0])
        mixer.ring([Int16](repeating: 5, count: 480), at: now - .milliseconds(1700))
        #expect(play(mixer, 1) == [5])
        MonotonicClock.sleep(until: now + .milliseconds(400))
        #expect(play(mixer, 1) == [0])
    }

    /// One that has begun is heard to its end.
    @Test func itIsGivenUpWhereNothingPlays() {
        let mixer = TalkMixer()
        let now: Instant = MonotonicClock.now()
        mixer.ring([1, 2, 3], at: now)
        mixer.dropChime()
        #expect(!mixer.waitForChime(until: now) && play(mixer, 1) == [0])
        mixer.ring([1, 2, 3], at: now)
        #expect(mixer.waitForChime(until: now), "it may still begin")
        #expect(play(mixer, 1) == [1])
        mixer.dropChime()
        #expect(mixer.waitForChime(until: now + .seconds(60)) && play(mixer, 2) == [2, 3])
    }

    /// A voice in the middle does not close the speakers before its end.
    @Test func aVoiceDoesNotShortenIt() {
        let mixer = TalkMixer()
        let now: Instant = MonotonicClock.now()
        mixer.ring([Int16](repeating: 1, count: 480_000), at: now)
        let block = SoundBlock(number: 0, capturedAt: now, channels: 1, follows: false)
        _ = mixer.append(block, [Int16](repeating: 1, count: 480).span, of: 5, at: now + .seconds(1))
        #expect(mixer.talk(at: now + .seconds(14)).isHeard && !mixer.talk(at: now + .seconds(16)).isHeard)
    }
}
