import FrameBridge
import TestSupport
import Testing
import Time

@testable import Sound

@Suite struct LevelMeterTests {
    @Test func aToneOfFullScaleIsZero() throws {
        var (meter, now) = (LevelMeter(), Instant.seconds(5))
        let tone = SoundClip.tone(1000, lasting: 0.01, level: 1).samples
        for _ in 0..<250 {
            meter.add(tone, at: now)
            now += SoundBlock.duration
        }
        let level = try #require(meter.level(at: now))
        #expect(abs(level.rms) < 0.05 && abs(level.peak) < 0.05)
        #expect(meter.level(at: now + .seconds(3)) == nil)
    }

    @Test func silenceHasNoLevel() {
        var meter = LevelMeter()
        #expect(meter.level(at: .seconds(1)) == nil)
        meter.add([Int16](repeating: 0, count: 960), at: .seconds(1))
        #expect(meter.level(at: .seconds(1)) == nil)
        meter.add([.min] + [Int16](repeating: 0, count: 959), at: .seconds(1))
        #expect(meter.level(at: .seconds(1))?.peak == 0)
    }
}
