import Media
import Pixels
import Testing
import Time

@testable import Sender
@testable import VideoEncoding

/// One decision each.
@Suite struct FramePlannerTests {
    private static let size = PixelSize(width: 640, height: 368)
    private static let start = Instant(nanoseconds: 0) + .seconds(100)
    private static let able = FramePlanner.Abilities(canPatch: true, repeatableQuantizer: nil)

    private static func rendition(
        _ codec: VideoCodec = .vp8,
        bitrate: Int = 2_500_000
    ) -> Rendition {
        Rendition(
            id: Rendition.ID(0),
            codec: codec,
            width: size.width,
            height: size.height,
            framesPerSecond: 30,
            bitrate: bitrate
        )
    }

    private static func blocks(_ columns: Range<Int>, _ rows: Range<Int>) -> BlockSet {
        var blocks = BlockSet(size, side: BlockSet.macroblock)
        blocks.insert(columns: columns, rows: rows)
        return blocks
    }

    /// A planner whose picture has been a keyframe of this quantizer.
    private func planner(
        _ codec: VideoCodec = .vp8,
        quantizer: Int,
        bitrate: Int = 2_500_000,
        _ prepare: (inout FramePlanner) -> Void = { _ in }
    ) -> FramePlanner {
        let settings = SenderSettings(wakesEarly: true, keyframeInterval: nil)
        var planner = FramePlanner(Self.rendition(codec, bitrate: bitrate), settings, at: Self.start)
        prepare(&planner)
        var plan = planner.plan(.keyframe, of: Self.start, by: FramePlanner.Abilities(), at: Self.start)
        #expect(plan.step == .encode)
        planner.beginEncoding(&plan, patched: nil)
        #expect(plan.action == .keyframe)
        _ = planner.quantizers(of: &plan, at: Self.start)
        planner.note(outcome(isKeyframe: true, quantizer), canPatch: true, of: plan, at: Self.start)
        return planner
    }

    private func outcome(isKeyframe: Bool = false, _ quantizer: Int, bytes: Int = 1000) -> FramePlanner.Delivery {
        (EncodingResult(isKeyframe: isKeyframe, quantizer: quantizer), bytes)
    }

    @Test func aSmallChangeIsAPatch() {
        var planner = planner(quantizer: 7)
        let (changed, now) = (Self.blocks(3..<5, 3..<5), Self.start + .seconds(1))
        planner.noteNewPicture(changed, nil, canPatch: true)
        let plan = planner.plan(.frame, of: now, by: Self.able, at: now)
        guard case .patch(let limit) = plan.step else {
            Issue.record("\(plan.step)")
            return
        }
        #expect(limit > 1000 && planner.active == changed && planner.pictureIsNew)
        planner.note(outcome(7), canPatch: true, of: plan, at: now)
        #expect(!planner.pictureIsNew && planner.sharpness.isFine)
    }

    /// The encoder moves nothing: it encodes what has moved like any other change, and what patches have changed before.
    @Test func aPatchThatIsGivenUpIsEncodedWithWhatHasMoved() {
        var planner = planner(quantizer: 7)
        let now = Self.start + .seconds(1)
        let (moved, news) = (Self.blocks(0..<20, 0..<10), Self.blocks(0..<20, 10..<11))
        var changed = moved
        changed.formUnion(news)
        let scroll = Scroll(rows: 16, blocks: moved, tinted: BlockSet(Self.size, side: BlockSet.macroblock))
        planner.noteNewPicture(changed, scroll, canPatch: true)
        var plan = planner.plan(.frame, of: now, by: Self.able, at: now)
        guard case .patch = plan.step else {
            Issue.record("\(plan.step)")
            return
        }
        #expect(planner.scroll?.blocks == moved && planner.active == news)
        let patched = Self.blocks(30..<32, 20..<22)
        planner.beginEncoding(&plan, patched: patched)
        changed.formUnion(patched)
        #expect(plan.step == .encode && planner.scroll == nil && planner.active == changed)
        #expect(planner.activeMap == changed)
        // If the frame is dropped, it is still to be sent.
        planner.note(nil, canPatch: true, of: plan, at: now)
        #expect(planner.pictureIsNew)
        plan = planner.plan(.frame, of: now, by: Self.able, at: now + .seconds(1))
        #expect(planner.active == changed)
    }

    /// Receivers that have not got the picture before cannot move parts of it.
    @Test func nothingMovesFromAPictureThatWasNotSent() {
        var planner = planner(quantizer: 7)
        let blocks = Self.blocks(0..<20, 0..<10)
        let scroll = Scroll(rows: 16, blocks: blocks, tinted: blocks)
        planner.noteNewPicture(blocks, scroll, canPatch: false)
        #expect(planner.scroll == nil)
        planner.noteNewPicture(blocks, scroll, canPatch: true)
        #expect(planner.scroll == nil)
    }

    /// Only one that shows the picture, as finely as a new one would, and that does not measure the link.
    @Test func aKeyframeIsRepeatedIfItIsAsGoodAsANewOne() {
        let now = Self.start + .seconds(1)
        let able = FramePlanner.Abilities(canPatch: true, repeatableQuantizer: 12)
        var fine = planner(quantizer: 12)
        #expect(fine.plan(.keyframe, of: Self.start, by: able, at: now).step == .repeatKeyframe)

        let coarser = FramePlanner.Abilities(canPatch: true, repeatableQuantizer: 13)
        fine = planner(quantizer: 13)
        #expect(fine.plan(.keyframe, of: Self.start, by: coarser, at: now).step == .encode)
        // That of a picture that has just come may be as coarse as it is.
        var coarse = planner(quantizer: 40)
        let coarsest = FramePlanner.Abilities(canPatch: true, repeatableQuantizer: 40)
        #expect(coarse.plan(.keyframe, of: now, by: coarsest, at: now).step == .repeatKeyframe)

        var other = planner(quantizer: 12)
        other.noteNewPicture(Self.blocks(0..<1, 0..<1), nil, canPatch: true)
        #expect(other.plan(.keyframe, of: Self.start, by: able, at: now).step == .encode)
        var measuring = planner(quantizer: 12)
        measuring.setLink(nil, isMeasuring: true)
        #expect(measuring.plan(.keyframe, of: Self.start, by: able, at: now).step == .encode)
        var none = planner(quantizer: 12)
        #expect(none.plan(.keyframe, of: Self.start, by: Self.able, at: now).step == .encode)
    }

    /// The small first picture measures the link, and nothing is refined meanwhile. If the link carries more, all follows.
    @Test func nothingIsRefinedWhileALinkIsMeasured() {
        var planner = planner(quantizer: 50) { $0.setLink(nil, isMeasuring: true) }
        let now = Self.start + .milliseconds(100)
        #expect(planner.plan(.frame, of: Self.start, by: Self.able, at: now).step == .wait)
        #expect(planner.cadence.repetition > now)
        planner.setLink(100_000_000, isMeasuring: false)
        #expect(planner.pictureIsNew)
        #expect(planner.plan(.frame, of: Self.start, by: Self.able, at: now).step == .encode)
        #expect(planner.activeMap == nil)
    }

    /// The keyframe that measures is one that can be read, and is encoded thoroughly.
    @Test(arguments: VideoCodec.allCases) func theMeasuringKeyframeCanBeRead(codec: VideoCodec) {
        let settings = SenderSettings(wakesEarly: true, keyframeInterval: nil)
        var planner = FramePlanner(Self.rendition(codec), settings, at: Self.start)
        planner.setLink(nil, isMeasuring: true)
        var plan = planner.plan(.keyframe, of: Self.start, by: FramePlanner.Abilities(), at: Self.start)
        planner.beginEncoding(&plan, patched: nil)
        #expect(!planner.asksForNeed(plan, at: Self.start))
        let quantizers = planner.quantizers(of: &plan, at: Self.start)
        #expect(quantizers == codec.readableQuantizer...codec.readableQuantizer && planner.isThorough(plan))
    }

    /// A few macroblocks that are nearly fine are polished only while patches leave something of their budget.
    @Test func polishWaitsForTheBudget() {
        var planner = planner(quantizer: 12, bitrate: 300_000)
        var now = Self.start + .milliseconds(40)
        var polishes = 0
        while polishes < 100 {
            let plan = planner.plan(.frame, of: Self.start, by: Self.able, at: now)
            if plan.step == .wait { break }
            #expect(plan.step == .patch(limit: .max) && !planner.active.isEmpty)
            planner.note(outcome(7, bytes: 4000), canPatch: true, of: plan, at: now)
            polishes += 1
            now += .milliseconds(1)
        }
        #expect((1...3).contains(polishes))
        #expect(planner.plan(.frame, of: Self.start, by: Self.able, at: now + .seconds(1)).step == .patch(limit: .max))
    }

    /// One of a picture that has stood still is as fine as it need be; one of a picture that has just come is left to rate control.
    @Test func aKeyframeOfAPictureAtRestIsSharp() {
        for (age, quantizers) in [(400, nil), (600, 0...12)] as [(Int, ClosedRange<Int>?)] {
            var planner = planner(quantizer: 40)
            let now = Self.start + .milliseconds(age)
            var plan = planner.plan(.keyframe, of: Self.start, by: Self.able, at: now)
            planner.beginEncoding(&plan, patched: nil)
            #expect(planner.quantizers(of: &plan, at: now) == quantizers)
        }
    }

    /// Macroblocks that come out wrong at a fine quantizer get one of half of it. A keyframe, and a frame of a new picture, do not.
    @Test(arguments: [VideoCodec.vp9, .av1]) func aRepairIsFinerThanFine(codec: VideoCodec) {
        var planner = planner(codec, quantizer: codec.fineQuantizer)
        let now = Self.start + .seconds(1)
        #expect(planner.asksForErrors(at: now))
        planner.noteErrors(Self.blocks(0..<1, 0..<1), at: now)
        func quantizers(_ action: Cadence.Action) -> ClosedRange<Int>? {
            var planner = planner
            var plan = planner.plan(action, of: Self.start, by: FramePlanner.Abilities(), at: now)
            planner.beginEncoding(&plan, patched: nil)
            return planner.quantizers(of: &plan, at: now)
        }
        #expect(quantizers(.frame) == 0...codec.fineQuantizer / 2)
        #expect(quantizers(.keyframe)?.upperBound ?? 63 >= codec.fineQuantizer)
        planner.noteNewPicture(Self.blocks(0..<1, 0..<1), nil, canPatch: false)
        #expect(quantizers(.frame) == nil)
    }

    /// Over a thin link, a part gets a quantizer of its own, and small parts are encoded thoroughly.
    @Test func overAThinLinkAPartIsRefined() {
        var planner = planner(quantizer: 50) { planner in
            planner.setBitrate(300_000)
            planner.setLink(300_000, isMeasuring: false)
        }
        let now = Self.start + .seconds(2)
        #expect(planner.isThin)
        var plan = planner.plan(.frame, of: Self.start, by: Self.able, at: now)
        #expect(plan.step == .encode)
        planner.beginEncoding(&plan, patched: nil)
        let count = planner.active.count
        #expect(count > 0 && count < planner.sharpness.count / 2)
        let quantizers = planner.quantizers(of: &plan, at: now)
        #expect(quantizers.map { $0.count == 1 && $0.upperBound < 50 } ?? false)
        #expect(planner.isThorough(plan) == (count * 8 <= planner.sharpness.count))
    }

    /// A page of AV1 goes over a thin link as a keyframe, after a probe.
    @Test func aPageOfAV1IsAKeyframe() {
        var planner = planner(.av1, quantizer: 30) { planner in
            planner.setBitrate(300_000)
            planner.setLink(300_000, isMeasuring: false)
        }
        let now = Self.start + .seconds(2)
        planner.noteNewPicture(Self.blocks(0..<40, 0..<23), nil, canPatch: false)
        var plan = planner.plan(.frame, of: now, by: FramePlanner.Abilities(), at: now)
        #expect(plan.action == .keyframe && plan.step == .encode)
        planner.beginEncoding(&plan, patched: nil)
        #expect(planner.asksForNeed(plan, at: now))
    }

    @Test func eachFrameShowsALaterInstant() {
        var planner = planner(quantizer: 12)
        let now = Self.start + .seconds(1)
        let first = planner.presentationTime(of: Self.start, at: now)
        #expect(first == now)
        #expect(planner.presentationTime(of: Self.start, at: now) == first + .nanoseconds(1))
        planner.noteNewPicture(Self.blocks(0..<1, 0..<1), nil, canPatch: true)
        let capturedAt = now + .milliseconds(30)
        #expect(planner.presentationTime(of: capturedAt, at: now + .milliseconds(40)) == capturedAt)
        // One that was captured about when the frame before went out.
        let next = planner.presentationTime(of: capturedAt + .milliseconds(10), at: now + .milliseconds(50))
        #expect(next == now + .milliseconds(50))
    }
}
