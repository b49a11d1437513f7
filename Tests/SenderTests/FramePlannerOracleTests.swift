import Media
import Pixels
import TestSupport
import Testing
import Time

@testable import Sender
@testable import VideoEncoding

/// A planner beside an encoder without pictures, in virtual time.
private struct PlannedStream {
    var planner: FramePlanner
    var encoder: ToyEncoder
    private(set) var steps: [FramePlanner.Step] = []

    init(_ rendition: Rendition, _ settings: SenderSettings, _ encoder: ToyEncoder, at now: Instant) {
        planner = FramePlanner(rendition, settings, at: now)
        self.encoder = encoder
    }

    /// Does what `VideoStream` does.
    mutating func encode(capturedAt: Instant, _ planned: Cadence.Action, now: Instant) -> ToyEncoder.Frame? {
        let instant = planner.presentationTime(of: capturedAt, at: now)
        let abilities = FramePlanner.Abilities(
            canPatch: encoder.canPatch,
            repeatableQuantizer: encoder.repeatableQuantizer
        )
        var plan = planner.plan(planned, of: capturedAt, by: abilities, at: now)
        steps.append(plan.step)
        var frame: ToyEncoder.Frame?
        switch plan.step {
        case .wait: return nil
        case .repeatKeyframe: frame = encoder.repeatKeyframe(presentationTime: instant)
        case .patch(let limit):
            let (blocks, scroll) = (planner.active, planner.scroll)
            frame = encoder.patch(presentationTime: instant, blocks: blocks, scroll: scroll, limit: limit)
        case .encode: break
        }
        if frame == nil {
            planner.beginEncoding(&plan, patched: encoder.patchedBlocks)
            if planner.asksForNeed(plan, at: now), let need = encoder.need() { planner.linkBudget.setNeed(need) }
            let quantizers = planner.quantizers(of: &plan, at: now)
            frame = encoder.encode(
                presentationTime: instant,
                forceKeyframe: plan.action == .keyframe,
                quantizers: quantizers,
                active: planner.activeMap,
                isThorough: planner.isThorough(plan)
            )
        }
        planner.note(frame?.delivery, canPatch: encoder.canPatch, of: plan, at: now)
        return frame
    }
}

extension ToyEncoder.Frame {
    fileprivate var delivery: FramePlanner.Delivery {
        (EncodingResult(isKeyframe: isKeyframe, quantizer: quantizer), byteCount)
    }
}

@Suite struct FramePlannerOracleTests {
    /// One walk of two: whatever comes, they tell their encoders the same.
    private struct Walk {
        let rendition: Rendition
        let settings: SenderSettings
        var random: SplitMix
        var now = Instant(nanoseconds: 0) + .seconds(100)
        var capturedAt: Instant
        var stream: PlannedStream
        var oracle: FramePlannerOracle

        init(_ codec: VideoCodec, seed: UInt64) {
            random = SplitMix(seed: seed)
            let sizes = [PixelSize(width: 176, height: 96), PixelSize(width: 640, height: 368)]
            let size = sizes[Int.random(in: 0..<8, using: &random) == 0 ? 1 : 0]
            // From too little for a sharp keyframe to enough for a fine one.
            let bitrate = Int(Double(size.width * size.height) * Double.random(in: 0.2...4, using: &random))
            rendition = Rendition(
                id: Rendition.ID(0),
                codec: codec,
                width: size.width,
                height: size.height,
                framesPerSecond: 30,
                bitrate: bitrate
            )
            let interval: Duration? = Bool.random(using: &random) ? .seconds(2) : nil
            var settings = SenderSettings(wakesEarly: true, keyframeInterval: interval)
            settings.allowsPatches = Int.random(in: 0..<4, using: &random) > 0
            self.settings = settings
            capturedAt = now
            let encoder = ToyEncoder(codec, allowsPatches: settings.allowsPatches, seed: random.next())
            stream = PlannedStream(rendition, settings, encoder, at: now)
            oracle = FramePlannerOracle(rendition, settings, encoder, at: now)
        }

        mutating func draw(_ most: Int) -> Int { Int.random(in: 0..<most, using: &random) }

        mutating func step() {
            switch draw(16) {
            case 0..<5: changePicture()
            case 5:
                let bitrate = max(1000, rendition.bitrate / (1 + draw(6)))
                stream.planner.setBitrate(bitrate)
                oracle.setBitrate(bitrate)
            case 6, 7:
                let rate = draw(4) == 0 ? nil : rendition.bitrate * (1 + draw(40)) / 10
                let isMeasuring = draw(4) == 0
                stream.planner.setLink(rate, isMeasuring: isMeasuring)
                oracle.setLink(rate, isMeasuring: isMeasuring)
            case 8:
                let interval: Duration? = draw(2) == 0 ? nil : .milliseconds(500 * (1 + draw(10)))
                stream.planner.setKeyframeInterval(interval)
                oracle.setKeyframeInterval(interval)
            case 9:
                stream.planner.cadence.noteKeyframeRequest()
                oracle.noteKeyframeRequest()
            default: break
            }
            switch draw(10) {
            case 0: now += .milliseconds(draw(1500))
            case 1..<4: now += .milliseconds(draw(40))
            default: now = max(now + .nanoseconds(1), stream.planner.cadence.repetition)
            }
        }

        private mutating func changePicture() {
            let all = BlockSet(rendition.size, side: BlockSet.macroblock)
            var changed = all
            for _ in 0...draw(2) {
                let (column, row) = (draw(all.columns), draw(all.rows))
                let isSmall = draw(3) > 0
                let width = isSmall ? 1 : 1 + draw(all.columns - column)
                let height = isSmall ? 1 : 1 + draw(all.rows - row)
                changed.insert(columns: column..<column + width, rows: row..<row + height)
            }
            var scroll: Scroll?
            if draw(3) == 0 {
                let rows = (draw(2) == 0 ? 1 : -1) * (1 + draw(40))
                // What has moved was inside the picture before.
                let first = rows < 0 ? (15 - rows) / 16 : 0
                let end = all.rows - (rows > 0 ? (15 + rows) / 16 : 0)
                let row = first + draw(end - first)
                var moved = all
                moved.insert(columns: 0..<all.columns, rows: row..<row + 1 + draw(end - row))
                moved.subtract(changed)
                var tinted = moved
                if draw(2) == 0 { tinted.removeAll() }
                changed.formUnion(moved)
                scroll = Scroll(rows: rows, blocks: moved, tinted: tinted)
            }
            if draw(3) > 0 { capturedAt = now }
            stream.planner.noteNewPicture(changed, scroll, canPatch: stream.encoder.canPatch)
            oracle.noteNewPicture(changed, scroll)
        }

        /// Whether both have told their encoders the same since this was asked last, and are in the same state.
        mutating func areSame() -> Bool {
            stream.encoder.takeCalls() == oracle.encoder.takeCalls()
                && stream.planner.cadence.repetition == oracle.repetition
                && stream.planner.cadence.earliest == oracle.earliest
                && stream.planner.isThin == oracle.isThin
                && stream.planner.active == oracle.sharpness.active
                && stream.planner.sharpness.coarseCount == oracle.sharpness.coarseCount
                && stream.planner.sharpness.coarsest == oracle.sharpness.coarsest
                && stream.planner.sharpness.isMostlyFine == oracle.sharpness.isMostlyFine
        }
    }

    @Test(arguments: VideoCodec.allCases) func itDecidesAsBefore(codec: VideoCodec) {
        var steps: [FramePlanner.Step] = []
        for seed in 0..<24 {
            var walk = Walk(codec, seed: UInt64(seed))
            for step in 0..<250 {
                walk.step()
                let action = walk.oracle.action(at: walk.now)
                #expect(walk.stream.planner.cadence.action(at: walk.now) == action)
                if action != .nothing {
                    let frame = walk.stream.encode(capturedAt: walk.capturedAt, action, now: walk.now)
                    let wanted = walk.oracle.encode(capturedAt: walk.capturedAt, action, now: walk.now)
                    #expect(frame == wanted)
                }
                guard walk.areSame() else {
                    Issue.record("\(codec), seed \(seed), step \(step): another decision")
                    break
                }
            }
            steps += walk.stream.steps
        }
        // The walks come everywhere.
        #expect(steps.contains(.wait) && steps.contains(.encode))
        #expect(steps.contains(.repeatKeyframe) == (codec != .av1))
        let patches = steps.count { if case .patch = $0 { true } else { false } }
        #expect(codec == .vp8 ? patches > 100 : patches == 0)
    }
}
