import Media
import TestSupport
import Testing
import Time

@testable import Sender
@testable import VideoEncoding

@Suite struct CodecPreferenceTests {
    private static let interval = Duration.nanoseconds(33_333_333)

    /// A sender at work, frame by frame.
    private struct Work {
        var preference = CodecPreference(interval: interval)
        var now = Instant.seconds(1000)

        /// - Parameters:
        ///   - seconds: how long, at 30 frames a second.
        ///   - share: of the picture, changes with each frame.
        ///   - quantizer: of the frames, in either codec.
        ///   - cost: of a frame in AV1, of the time between frames.
        mutating func go(_ seconds: Double, share: Double, quantizer: Int, cost: Double = 0.4) {
            for _ in 0..<Int(seconds * 30) {
                now += interval
                preference.noteChange(share, at: now)
                let frame = EncodingResult(isKeyframe: false, quantizer: quantizer)
                let time = interval * (preference.codec == .av1 ? cost : 0.1)
                preference.noteFrame(frame, by: preference.codec, cost: time, at: now)
            }
        }
    }

    @Test func sharpTextStaysWithVP8() {
        var work = Work()
        work.go(60, share: 0.2, quantizer: 12)
        #expect(work.preference.codec == .vp8)
    }

    @Test func onAThinLinkAV1ComesAtOnceAndStays() {
        var work = Work()
        work.preference.noteLink(isThin: false, of: .vp8, at: work.now)
        #expect(work.preference.codec == .vp8)
        work.preference.noteLink(isThin: true, of: .vp8, at: work.now)
        #expect(work.preference.codec == .av1)
        for _ in 0..<60 {
            work.go(1, share: 0, quantizer: 24)
            work.preference.noteLink(isThin: true, of: .av1, at: work.now)
        }
        #expect(work.preference.codec == .av1)
        work.go(25, share: 0, quantizer: 24)
        #expect(work.preference.codec == .vp8, "the link is wide again")
    }

    /// The link of those who get another codec says nothing of AV1's.
    @Test func filmStaysWithVP8OnAThinLinkToo() {
        var work = Work()
        work.go(5, share: 1, quantizer: 50)
        work.preference.noteLink(isThin: true, of: .vp8, at: work.now)
        #expect(work.preference.codec == .vp8)
        work.go(10, share: 0, quantizer: 12)
        work.preference.noteLink(isThin: true, of: .vp8, at: work.now)
        #expect(work.preference.codec == .av1)
        for _ in 0..<15 {
            work.go(1, share: 0, quantizer: 24)
            work.preference.noteLink(isThin: true, of: .vp8, at: work.now)
        }
        work.go(6, share: 0, quantizer: 24)
        #expect(work.preference.codec == .vp8)
    }

    @Test func coarseTextMovesToAV1() {
        var work = Work()
        work.go(0.9, share: 0.2, quantizer: 50)
        #expect(work.preference.codec == .vp8)
        work.go(0.5, share: 0.2, quantizer: 50)
        #expect(work.preference.codec == .av1)
        work.go(60, share: 0.2, quantizer: 20)
        #expect(work.preference.codec == .av1)
    }

    /// Half a second of coarse frames with each page is bearable every half a minute, and not every other second.
    @Test(arguments: [(30.0, VideoCodec.vp8), (2.0, .av1)])
    func pagesThatTurnFastMoveToAV1(pause: Double, codec: VideoCodec) {
        var work = Work()
        for _ in 0..<10 where work.preference.codec == .vp8 {
            work.go(0.5, share: 0.03, quantizer: 50)
            work.go(pause, share: 0, quantizer: 12)
        }
        #expect(work.preference.codec == codec)
    }

    @Test func filmStaysWithVP8() {
        var work = Work()
        work.go(60, share: 1, quantizer: 50)
        #expect(work.preference.codec == .vp8)
    }

    @Test(arguments: [(1.0, 0.4), (0.2, 0.9)])
    func filmAndCostMoveBackAndAV1RestsLongerEachTime(share: Double, cost: Double) {
        var work = Work()
        for rest in [30.0, 60, 120] {
            work.go(3, share: 0.2, quantizer: 50)
            #expect(work.preference.codec == .av1)
            // Until AV1 gives way.
            for _ in 0..<200 where work.preference.codec == .av1 {
                work.go(0.1, share: share, quantizer: 20, cost: cost)
            }
            #expect(work.preference.codec == .vp8)
            work.go(rest - 4, share: 0.2, quantizer: 50)
            #expect(work.preference.codec == .vp8)
            work.go(2, share: 0, quantizer: 12)
        }
    }

    @Test func eachRestIsTwiceAsLong() {
        var preference = CodecPreference(interval: Self.interval)
        var now = Instant.seconds(1000)
        func isAV1() -> Bool {
            preference.noteChange(0, at: now)
            preference.noteLink(isThin: true, of: .vp8, at: now)
            return preference.codec == .av1
        }
        for rest in [30, 60, 120, 240, 480, 960, 960] {
            #expect(isAV1())
            for _ in 0..<30 where preference.codec == .av1 {
                now += Self.interval
                preference.noteChange(1, at: now)
            }
            #expect(preference.codec == .vp8, "film")
            now += .seconds(rest) - .nanoseconds(1)
            #expect(!isAV1())
            now += .nanoseconds(1)
        }
    }

    /// They wait for the link, and nothing waits for them.
    @Test(arguments: [(VideoCodec.av1, false), (.vp8, true)])
    func refinementsMayTakeLong(codec: VideoCodec, isCounted: Bool) {
        var work = Work()
        work.go(3, share: 0.2, quantizer: 50)
        for _ in 0..<100 where work.preference.codec == .av1 {
            work.now += Self.interval * 3
            let frame = EncodingResult(isKeyframe: false, quantizer: 40)
            work.preference.noteFrame(frame, by: .av1, cost: isCounted ? Self.interval : nil, at: work.now)
        }
        #expect(work.preference.codec == codec)
    }

    @Test func aCalmPictureMovesBack() {
        var work = Work()
        work.go(3, share: 0.2, quantizer: 50)
        work.go(19, share: 0.001, quantizer: 20, cost: 0.05)
        #expect(work.preference.codec == .av1)
        work.go(2, share: 0.001, quantizer: 20, cost: 0.05)
        #expect(work.preference.codec == .vp8)
        // There was nothing wrong with AV1.
        work.go(3, share: 0.2, quantizer: 50)
        #expect(work.preference.codec == .av1)
    }

    /// Where no receiver takes AV1, none of its frames tell how it does.
    @Test func withoutAV1FramesTheWishEndsToo() {
        var work = Work()
        work.go(3, share: 0.2, quantizer: 50)
        let frame = EncodingResult(isKeyframe: false, quantizer: 12)
        work.preference.noteFrame(frame, by: .vp8, cost: .nanoseconds(1), at: work.now + .seconds(21))
        #expect(work.preference.codec == .vp8)
    }
}
