import Control
import Media
import TestSupport
import Testing
import Time

@testable import Recording

@Suite struct FeedMemoryTests {
    private static func picture(_ number: Int, isKeyframe: Bool, at instant: Instant, captured: Instant? = nil)
        -> FeedPicture
    {
        FeedPicture(
            codec: .vp8,
            isKeyframe: isKeyframe,
            width: UInt16(number % 30_000 + 1),
            height: 2,
            shownAt: instant,
            captureTime: captured ?? instant
        )
    }

    private static func pictures(_ items: [FeedMemory.Item]) -> [FeedPicture] {
        items.compactMap { if case .picture(let picture, _) = $0 { picture } else { nil } }
    }

    /// Against all that ever came.
    @Test(arguments: 0..<20) func whatIsKeptCanBeShown(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let time = Duration.seconds(.random(in: 1...60, using: &random))
        var memory = FeedMemory(of: time, longestGap: .seconds(5))
        var (now, all): (Instant, [FeedPicture]) = (.seconds(1000), [])
        let rate = Double.random(in: 0.003...0.3, using: &random)
        for number in 0..<2000 {
            now += .milliseconds(.random(in: 20...2000, using: &random))
            let isKeyframe = all.isEmpty || Double.random(in: 0..<1, using: &random) < rate
            let picture = Self.picture(number, isKeyframe: isKeyframe, at: now)
            all.append(picture)
            memory.add(picture, [1, 2, 3])
            guard number % 50 == 0 else { continue }
            let begin = now - time * .random(in: 0...1, using: &random)
            let kept = Self.pictures(memory.items(from: begin))
            let first = all.lastIndex { $0.isKeyframe && $0.shownAt <= begin } ?? 0
            #expect(kept == Array(all[first...]))
        }
    }

    /// Little stays of what nobody can ask for any more.
    @Test func whatIsOldGoes() {
        var memory = FeedMemory(of: .seconds(10), longestGap: .seconds(5))
        for number in 0..<100_000 {
            let now = Instant.seconds(1000) + .milliseconds(33) * number
            let isKeyframe = memory.needsKeyframe(at: now)
            memory.add(Self.picture(number, isKeyframe: isKeyframe, at: now), [UInt8](repeating: 0, count: 1000))
            #expect(memory.byteCount < 1 << 20)
        }
    }

    /// A caret blinks for a day: a clip must not begin with all of that.
    @Test func aCaretNeedsAKeyframeNowAndThen() {
        var memory = FeedMemory(of: .seconds(10), longestGap: .seconds(5))
        var keyframes = 0
        for number in 0..<86_400 * 2 {
            let now = Instant.seconds(1000) + .milliseconds(500) * number
            let isKeyframe = memory.needsKeyframe(at: now)
            if isKeyframe { keyframes += 1 }
            memory.add(Self.picture(number, isKeyframe: isKeyframe, at: now), [1])
            if number % 100 == 0 { #expect(memory.items(from: now).count <= FeedMemory.mostPictures + 2) }
        }
        #expect(keyframes < 300)
    }

    @Test func aFloodIsBounded() {
        var memory = FeedMemory(of: .seconds(5), longestGap: .seconds(5))
        let bytes = [UInt8](repeating: 0, count: 1 << 20)
        for number in 0..<200 {
            let now = Instant.seconds(1000) + .milliseconds(1) * number
            memory.add(Self.picture(number, isKeyframe: number % 50 == 0, at: now), bytes)
            #expect(memory.byteCount <= 13 << 20)
        }
    }

    /// Invariant: paused.
    @Test(arguments: 0..<20) func nothingFromBeforeTheHorizonStays(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var memory = FeedMemory(of: .seconds(60), longestGap: .seconds(5))
        var now = Instant.seconds(1000)
        for number in 0..<300 {
            now += .milliseconds(.random(in: 20...300, using: &random))
            let isKeyframe = memory.isEmpty || Int.random(in: 0..<10, using: &random) == 0
            // A still picture is shown again, and was captured before.
            let age: Duration = .milliseconds(
                Bool.random(using: &random) ? 0 : Int.random(in: 0...3000, using: &random)
            )
            memory.add(Self.picture(number, isKeyframe: isKeyframe, at: now, captured: now - age), [1])
            memory.add(sound: [1], at: now)
        }
        let horizon = now - Duration.milliseconds(Int.random(in: 0...20_000, using: &random))
        memory.forget(before: horizon)
        let kept = Self.pictures(memory.items(from: .start))
        #expect(kept.allSatisfy { $0.captureTime >= horizon })
        #expect(kept.first?.isKeyframe ?? true)
    }

    @Test func anotherCodecOrALongGapBeginsAnew() {
        var memory = FeedMemory(of: .seconds(60), longestGap: .seconds(5))
        memory.add(Self.picture(0, isKeyframe: true, at: .seconds(1000)), [1])
        memory.add(Self.picture(1, isKeyframe: true, at: .seconds(1006)), [1])
        #expect(memory.items(from: .start).count == 1)
        memory.add(Self.picture(2, isKeyframe: false, at: .seconds(1003)), [1])
        #expect(memory.isEmpty, "times that go back")
    }
}
