import Containers
import TestSupport
import Testing
import Time

@testable import Calls

@Suite struct CMAFSegmenterTests {
    private static let track = CMAFTrack.vp9(width: 64, height: 48)
    private static let epoch = 1_800_000_000.0

    private static func segmenter(_ track: CMAFTrack = track) -> CMAFSegmenter {
        CMAFSegmenter(track, length: .seconds(4), epoch: epoch)
    }

    /// Frames at random, with a keyframe when one is wanted.
    @Test(arguments: 0..<30) func segmentsFollowEachOther(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var segmenter = Self.segmenter()
        var (segments, frames): ([CMAFSegment], Int) = ([], 0)
        var now = Instant.seconds(1000)
        for _ in 0..<1000 {
            now += Duration.milliseconds(Int.random(in: 10...1800, using: &random))
            let isKeyframe = segmenter.keyframeAt.map { now >= $0 } ?? true
            if let segment = segmenter.add([UInt8](repeating: 1, count: 10), at: now, isKeyframe: isKeyframe) {
                segments.append(segment)
            }
            frames += 1
        }
        if let last = segmenter.end(at: now + .seconds(1)) { segments.append(last) }
        #expect(segments.reduce(0) { $0 + $1.samples.count } == frames)
        #expect(segments.allSatisfy { $0.samples[0].isKeyframe })
        #expect(segments.last?.mark == .last && segments.dropLast().allSatisfy { $0.mark == nil })
        for (one, next) in zip(segments, segments.dropFirst()) {
            let length = one.samples.reduce(0) { $0 + $1.duration }
            #expect(one.time + UInt64(length) == next.time, "no hole")
            #expect(next.number > one.number)
            #expect(UInt64(one.number) == one.time / 360_000, "on the grid of the wall clock")
        }
    }

    /// Nothing comes any more.
    @Test func timeIsFilled() {
        var segmenter = Self.segmenter()
        _ = segmenter.add([1], at: .seconds(1000), isKeyframe: true)
        _ = segmenter.add([2], at: .seconds(1001), isKeyframe: false)
        var segments: [CMAFSegment] = []
        for second in 1002...1030 {
            if let segment = segmenter.tick(at: .seconds(Double(second))) { segments.append(segment) }
        }
        #expect(segments.count == 7 && segments[0].mark == nil)
        #expect(segments.dropFirst().allSatisfy { $0.mark == .filler && $0.samples.map(\.bytes) == [[1]] })
        #expect(segmenter.add([3], at: .seconds(1031), isKeyframe: false) == nil)
        #expect(segmenter.keyframeAt == nil, "what came before is not shown any more")
        let next = segmenter.add([4], at: .seconds(1032.5), isKeyframe: true)
        #expect(next?.mark == .filler)
    }

    @Test func nothingComesBeforeAKeyframe() {
        var segmenter = Self.segmenter()
        #expect(segmenter.add([1], at: .seconds(1000), isKeyframe: false) == nil)
        #expect(segmenter.end(at: .seconds(1001)) == nil)
    }

    @Test func whatIsForgottenIsInNoSegment() {
        var segmenter = Self.segmenter()
        _ = segmenter.add([1], at: .seconds(1000), isKeyframe: true)
        segmenter.forget()
        _ = segmenter.add([2], at: .seconds(1001), isKeyframe: true)
        let last = segmenter.end(at: .seconds(1002))
        #expect(last?.samples.map(\.bytes) == [[2]])
    }
}
