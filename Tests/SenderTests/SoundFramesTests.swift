import Media
import TestSupport
import Testing
import Time

@testable import FrameBridge
@testable import Sender

/// Frames against a plain record of the blocks that they are made of.
@Suite struct SoundFramesTests {
    /// Blocks in virtual time, each of one value that tells its number.
    private struct Source {
        var frames = SoundFrames()
        var random: SplitMix
        var number: UInt64 = 0
        var capturedAt = Instant.seconds(100)
        var channels = 2
        /// The blocks whose samples are in frames, by those, as they were found; nil for silence.
        var found: [(frame: SoundFrames.Frame, halves: [UInt64?])] = []

        init(seed: UInt64) { random = SplitMix(seed: seed) }

        /// Another value for each block and channel, so that the mean of both tells them too.
        static func value(_ number: UInt64, channel: Int) -> Int16 {
            Int16(4 * (number % 4000) + 1) + Int16(2 * channel)
        }

        /// - Returns: the block's number.
        mutating func give(follows: Bool) throws -> UInt64 {
            number += 1
            let block = SoundBlock(number: number, capturedAt: capturedAt, channels: channels, follows: follows)
            let samples = (0..<SoundBlock.samples * channels).map { Self.value(number, channel: $0 % channels) }
            if let frame = frames.take(block, samples.span) { try note(frame) }
            capturedAt += SoundBlock.duration
            return number
        }

        /// - Returns: whether the block that was given last has begun a frame.
        mutating func takeBeginning() throws -> Bool {
            guard let frame = frames.takeBeginning() else { return false }
            try note(frame)
            return true
        }

        private mutating func note(_ frame: SoundFrames.Frame) throws {
            let samples = frames.samples
            try #require(samples.count == EncodedSound.samples * frame.channels)
            let halves = [samples.prefix(samples.count / 2), samples.suffix(samples.count / 2)].map { half in
                let first = half.first!
                if half.allSatisfy({ $0 == 0 }) { return UInt64?.none }
                let candidate = (number - min(number, 3)...number).last { number in
                    let values = [0, 1].map { Self.value(number, channel: $0) }
                    return values.contains(first) || values[0] + 1 == first
                }
                return candidate
            }
            found.append((frame, halves))
        }
    }

    @Test(arguments: UInt64(1)...20) func eachBlockIsHeardOnceAndInItsPlace(seed: UInt64) throws {
        var source = Source(seed: seed)
        // When each block was captured, and whether it continues the one before.
        var given: [UInt64: (at: Instant, follows: Bool)] = [:]
        for _ in 0..<2000 {
            var follows = source.number > 0
            switch Int.random(in: 0..<40, using: &source.random) {
            case 0:
                source.capturedAt += .milliseconds(Int.random(in: 1...300, using: &source.random))
                follows = false
            case 1:
                // A clock that is set anew.
                source.capturedAt = source.capturedAt - .milliseconds(Int.random(in: 1...30, using: &source.random))
                follows = false
            case 2, 3: source.channels = 3 - source.channels
            case 4:
                source.frames.interrupt()
                follows = Bool.random(using: &source.random) && follows
            default: break
            }
            let at = source.capturedAt
            given[try source.give(follows: follows)] = (at, follows)
            if Int.random(in: 0..<10, using: &source.random) == 0 { _ = try source.takeBeginning() }
        }
        try #require(source.found.count > 800)
        var end = Instant.start
        var last: UInt64 = 0
        for (frame, halves) in source.found {
            #expect(frame.capturedAt >= end, "frames do not overlap")
            let mayBegin = end
            end = frame.capturedAt + EncodedSound.duration
            guard let first = halves[0] else {
                // The beginning of a sound, in its own time.
                let only = try #require(halves[1], "a frame has sound in it")
                #expect(only > last && frame.capturedAt == given[only]!.at - SoundBlock.duration)
                last = only
                continue
            }
            #expect(first > last, "no block comes twice, and none before another")
            last = halves[1] ?? first
            if let second = halves[1] { #expect(second == first + 1 && given[second]!.follows) }
            // After a gap it has its own time, or comes as soon as the one before is over.
            if !given[first]!.follows { #expect(frame.capturedAt == max(mayBegin, given[first]!.at)) }
        }
        // What continues goes on without a gap.
        for (one, other) in zip(source.found, source.found.dropFirst()) where one.halves[1] != nil {
            let expected = one.halves[1]! + 1
            guard other.halves[0] == expected, given[expected]!.follows else { continue }
            #expect(other.frame.capturedAt - one.frame.capturedAt >= EncodedSound.duration)
        }
    }

    @Test func whatContinuesIsExactlyAFrameApart() throws {
        var source = Source(seed: 1)
        for number in 0..<1001 { _ = try source.give(follows: number > 0) }
        #expect(source.found.count == 500)
        for (index, (frame, halves)) in source.found.enumerated() {
            #expect(frame.capturedAt == Instant.seconds(100) + EncodedSound.duration * index)
            #expect(halves == [UInt64(2 * index + 1), UInt64(2 * index + 2)])
            #expect(frame.channels == 2)
        }
    }

    /// Of blocks that come two at a time, whichever of them begins.
    @Test func whatBeginsWaitsForNothing() throws {
        var source = Source(seed: 1)
        for number in 0..<7 {
            _ = try source.give(follows: number > 0)
            if number.isMultiple(of: 2) { #expect(try source.takeBeginning() == (number == 0)) }
        }
        #expect(source.found.map(\.halves) == [[nil, 1], [2, 3], [4, 5], [6, 7]])
        for (index, (frame, _)) in source.found.enumerated() {
            #expect(frame.capturedAt == Instant.seconds(100) + EncodedSound.duration * index - SoundBlock.duration)
        }
        // There is no place before what follows at once.
        source.frames.interrupt()
        source.capturedAt += .milliseconds(9)
        _ = try source.give(follows: false)
        #expect(try !source.takeBeginning())
        source.frames.interrupt()
        source.capturedAt += .milliseconds(1)
        _ = try source.give(follows: false)
        #expect(try source.takeBeginning())
        // Nor where it would reach back before what must not be heard.
        source.frames.interrupt(until: source.capturedAt + .milliseconds(40))
        source.capturedAt += .milliseconds(49)
        _ = try source.give(follows: false)
        #expect(try !source.takeBeginning())
    }

    @Test func aHalfGetsTheChannelsOfTheFirst() throws {
        for channels in 1...2 {
            var source = Source(seed: 1)
            source.channels = channels
            _ = try source.give(follows: false)
            source.channels = 3 - channels
            _ = try source.give(follows: true)
            #expect(source.found.map(\.frame.channels) == [channels])
            let second = source.frames.samples.suffix(SoundBlock.samples * channels)
            // Both channels have what one had, or one the mean of both.
            let expected = Source.value(2, channel: 0) + (channels == 1 ? 1 : 0)
            #expect(second.allSatisfy { $0 == expected })
            // The next frame has its own.
            for _ in 0..<2 { _ = try source.give(follows: true) }
            #expect(source.found.map(\.frame.channels) == [channels, 3 - channels])
            #expect(source.found[1].halves == [3, 4])
        }
    }

    @Test func aGapIsFilledOnlyForAShortWhile() throws {
        for (gap, isFilled) in [(1, true), (99, true), (100, false), (5000, false)] {
            var source = Source(seed: 1)
            _ = try source.give(follows: false)
            source.capturedAt += .milliseconds(gap)
            let at = source.capturedAt
            for number in 0..<2 { _ = try source.give(follows: number > 0) }
            #expect(source.found.map(\.halves) == (isFilled ? [[1, nil]] : []) + [[2, 3]], "\(gap) ms")
            let end = Instant.seconds(100) + EncodedSound.duration
            #expect(source.found.last!.frame.capturedAt == (isFilled ? max(at, end) : at))
        }
    }

    @Test func aReservedPlaceIsNobodyElses() throws {
        var source = Source(seed: 1)
        for number in 0..<3 { _ = try source.give(follows: number > 0) }
        let end = Instant.seconds(100) + EncodedSound.duration
        #expect(source.frames.reserve(at: .seconds(99)) == end)
        #expect(source.frames.reserve(at: .seconds(101)) == .seconds(101))
        for number in 0..<2 { _ = try source.give(follows: number > 0) }
        #expect(source.found.last!.frame.capturedAt == Instant.seconds(101) + EncodedSound.duration)
        #expect(source.found.last!.halves == [4, 5])
    }
}
