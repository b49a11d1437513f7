import Glibc
import SoundCoding
import TestSupport
import Testing

@Suite struct SpliceTests {
    /// A voice of many overtones, 40 ms of it.
    private static func voice(_ pitch: Double, channels: Int) -> [Int16] {
        (0..<1920).flatMap { index in
            let time = Double(index) / 48_000
            var value = 0.0
            for overtone in 1...20 {
                let angle = 2 * Double.pi * pitch * Double(overtone) * time + Double(overtone * overtone)
                value += sin(angle) / Double(overtone)
            }
            return repeatElement(Int16(value * 6000), count: channels)
        }
    }

    /// Of what repeats itself, one period more or less is not heard at all.
    @Test(arguments: [85, 100, 130, 200, 260, 390] as [Double], 1...2)
    func aVoiceGoesOnAsItWas(pitch: Double, channels: Int) throws {
        let sound = Self.voice(pitch, channels: channels)
        let splice = try #require(Splice(atBeginningOf: sound, channels: channels))
        // Of a high voice, two or three periods are as good.
        let periods = Double(splice.period) * pitch / 48_000
        #expect(abs(periods - periods.rounded()) < 0.02 && periods > 0.9, "\(periods)")
        #expect(splice.likeness > 0.99)
        var shorter = sound
        splice.shorten(&shorter)
        #expect(shorter.count == sound.count - splice.period * channels)
        var longer = sound
        splice.lengthen(&longer)
        #expect(longer.count == sound.count + splice.period * channels)
        for (changed, _) in [(shorter, 1), (longer, 2)] {
            let errors = zip(changed, sound).map { abs(Int($0) - Int($1)) }
            #expect(errors.max()! < 700, "it is as if nothing had been done: \(errors.max()!)")
        }
    }

    /// Whatever stands there, the ends stay as they were, so that nothing clicks where they meet what is before and behind.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func theEndsStay(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let channels = Int.random(in: 1...2, using: &random)
        let count = Int.random(in: 360...3000, using: &random)
        let sound = (0..<count * channels).map { _ in Int16.random(in: .min ... .max, using: &random) }
        let splice = try #require(Splice(atBeginningOf: sound, channels: channels))
        #expect(120...600 ~= splice.period && splice.period <= count - 240)
        let (period, overlap) = (splice.period * channels, 240 * channels)
        var shorter = sound
        splice.shorten(&shorter)
        #expect(shorter.count == sound.count - period)
        #expect(shorter[overlap...].elementsEqual(sound[(overlap + period)...]))
        #expect(abs(Int(shorter[0]) - Int(sound[0])) <= 65535 / 240 + 1)
        var longer = sound
        splice.lengthen(&longer)
        #expect(longer.count == sound.count + period)
        #expect(longer[..<period].elementsEqual(sound[..<period]))
        #expect(longer[(period + overlap)...].elementsEqual(sound[overlap...]))
    }

    @Test func whatIsTooShortIsLeft() {
        for channels in 1...2 {
            #expect(Splice(atBeginningOf: Array(repeating: 0, count: 359 * channels), channels: channels) == nil)
            let silence = [Int16](repeating: 0, count: 360 * channels)
            #expect(Splice(atBeginningOf: silence, channels: channels)?.likeness == 0)
        }
    }
}
