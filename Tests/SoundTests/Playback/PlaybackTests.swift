import TestSupport
import Testing
import Time

@testable import FrameBridge
@testable import Sound

@Suite struct PlaybackTests {
    /// A sender that writes 10 or 20 ms at once by this machine's clock, and speakers that ask for 5 ms by their own.
    private struct Virtual {
        var stream = TalkStream()
        /// How much faster the speakers' clock is, in millionths.
        var drift = 0.0
        var burst = 1
        var random = SplitMix(seed: 3)
        /// The most by which the sender is late, in seconds.
        var lateness = 0.002
        var now = 0.0
        var writeAt = 0.0
        var written = 0
        var played: [Int16] = []
        /// The most that waited in the last while.
        var most = 0

        mutating func run(for seconds: Double) {
            let end = now + seconds
            while now < end {
                while writeAt <= now {
                    for part in 0..<burst {
                        stream.append(tone(from: written).span, channels: 1, follows: written + part > 0)
                        written += SoundBlock.samples
                    }
                    writeAt = Double(written) / 48_000 + Double.random(in: 0...lateness, using: &random)
                }
                var sums = [Int32](repeating: 0, count: 240)
                stream.play(into: &sums)
                played += sums.map { Int16(clamping: $0) }
                most = max(most, stream.count)
                now += 0.005 / (1 + drift / 1e6)
            }
        }
    }

    @Test(arguments: [-200.0, 0, 200], [1, 2])
    func whatIsSaidIsPlayedSoonAndWithoutGaps(drift: Double, burst: Int) {
        var virtual = Virtual()
        (virtual.drift, virtual.burst) = (drift, burst)
        virtual.run(for: 120)
        virtual.most = 0
        let gaps = virtual.stream.gaps
        virtual.played = []
        virtual.run(for: 240)
        #expect(virtual.stream.gaps == gaps, "none after the first minutes")
        #expect(Double(virtual.most) / 48 < 10 * Double(burst) + 12, "milliseconds")
        let samples = virtual.played.suffix(48_000).map { Float($0) / 32768 }
        #expect(SoundAnalysis.largestClick(in: samples, frequency: 440, level: 0.25) < 0.002)
        #expect(abs(SoundAnalysis.level(of: 440, in: samples) + 12.04) < 0.2)
    }

    @Test func whatWaitedForTheSpeakersIsCut() {
        var stream = TalkStream()
        for _ in 0..<20 { stream.append([Int16](repeating: 9, count: 480).span, channels: 1, follows: true) }
        var sums = [Int32](repeating: 0, count: 240)
        stream.play(into: &sums)
        #expect(sums == [Int32](repeating: 9, count: 240) && stream.count == TalkStream.mostAtStart - 240)
    }

    @Test func whatPilesUpIsCut() {
        var stream = TalkStream()
        stream.append([Int16](repeating: 9, count: 480).span, channels: 1, follows: false)
        var sums = [Int32](repeating: 0, count: 240)
        stream.play(into: &sums)
        for _ in 0..<100 { stream.append([Int16](repeating: 9, count: 480).span, channels: 1, follows: true) }
        #expect(stream.count <= TalkStream.most)
    }

    @Test func aPauseOfASpeakerIsNoGap() {
        var stream = TalkStream()
        var sums = [Int32](repeating: 0, count: 480)
        for _ in 0..<10 {
            stream.append([Int16](repeating: 9, count: 480).span, channels: 1, follows: false)
            for _ in 0..<5 { stream.play(into: &sums) }
        }
        #expect(stream.gaps == 0 && sums[0] == 90)
        for _ in 0..<3 {
            stream.append([Int16](repeating: 9, count: 480).span, channels: 1, follows: true)
            for _ in 0..<5 { stream.play(into: &sums) }
        }
        #expect(stream.gaps == 3)
    }

    @Test func bothSidesOfASpeakerAreHeard() {
        var stream = TalkStream()
        let block = (0..<960).map { Int16($0 % 2 == 0 ? 100 : 300) }
        stream.append(block.span, channels: 2, follows: false)
        var sums = [Int32](repeating: 1, count: 480)
        stream.play(into: &sums)
        #expect(sums == [Int32](repeating: 201, count: 480))
    }

    @Test func severalAreHeardTogetherAsLoudAsWished() {
        let mixer = TalkMixer()
        let block = SoundBlock(number: 1, capturedAt: .seconds(1), channels: 1, follows: false)
        let now = Instant.seconds(1)
        func append(_ value: Int16, of sender: Int32, at now: Instant) -> Bool {
            mixer.append(block, [Int16](repeating: value, count: 480).span, of: sender, at: now)
        }
        #expect(append(1000, of: 1, at: now))
        #expect(!append(200, of: 2, at: now))
        mixer.setGain(0.5)
        var played = [Int16](repeating: 0, count: 240)
        played.withUnsafeMutableBufferPointer { mixer.play(into: $0) }
        #expect(played == [Int16](repeating: 600, count: 240))
        #expect(mixer.talk(at: now + .seconds(4)).isHeard && !mixer.talk(at: now + .seconds(6)).isHeard)
        // A sender that has ended is not heard any more.
        #expect(mixer.setSenders([2], isPossible: true) && !mixer.setSenders([2], isPossible: true))
        played.withUnsafeMutableBufferPointer { mixer.play(into: $0) }
        #expect(played == [Int16](repeating: 100, count: 240))
        #expect(append(1, of: 1, at: now + .seconds(10)))
    }

    @Test func starvationIsLongOnlyIfItDoesNotEnd() {
        var starvation = Starvation()
        let start = Instant(nanoseconds: 5_000_000_000)
        #expect(!starvation.isLong(at: start))
        starvation.noteUnderrun(at: start)
        starvation.noteUnderrun(at: start + .milliseconds(900))
        #expect(!starvation.isLong(at: start + .milliseconds(999)))
        #expect(starvation.isLong(at: start + .seconds(1)))
        starvation.noteStart()
        #expect(!starvation.isLong(at: start + .seconds(9)))
    }
}

/// 10 ms of a tone of 440 Hz that goes on, from a sample on.
private func tone(from sample: Int) -> ArraySlice<Int16> {
    let start = sample % second.count
    return second[start..<start + SoundBlock.samples]
}

private let second = SoundClip.tone(440, lasting: 1).samples
