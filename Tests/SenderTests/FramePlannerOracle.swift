import Media
import Pixels
import Time
import VideoEncoding

@testable import Sender

/// The decisions of a stream as they were made before `FramePlanner`, in one piece: whatever comes, that decides the same. It goes when
/// a decision is changed for the first time.
struct FramePlannerOracle {
    private static let restTime = Duration.milliseconds(500)
    private static let thoroughShare = 8
    private static let mostThorough = 8160

    let rendition: Rendition
    let settings: SenderSettings
    private var bitrate: Int
    private var keyframeInterval: Duration? { cadence.keyframeInterval }
    private var keyframeQuantizer: Int?
    var encoder: ToyEncoder
    private var cadence: Cadence
    private(set) var sharpness: Sharpness
    private var patchBudget: PatchBudget
    private var linkBudget: LinkBudget
    private var pictureIsNew = true
    private var measuresLink = false
    private var keyframeIsCurrent = false
    private var scroll: Scroll?
    private var lastInstant: Instant

    init(_ rendition: Rendition, _ settings: SenderSettings, _ encoder: ToyEncoder, at now: Instant) {
        self.encoder = encoder
        lastInstant = now
        cadence = Cadence(interval: rendition.interval, keyframeInterval: settings.keyframeInterval, from: now)
        patchBudget = PatchBudget(bitrate: rendition.bitrate)
        linkBudget = LinkBudget(rendition.codec, bitrate: rendition.bitrate)
        let codec = rendition.codec
        sharpness = Sharpness(
            rendition.size,
            fineQuantizer: settings.allowsPatches ? codec.convergedQuantizer : codec.convergedQuantizerUnpatched
        )
        self.rendition = rendition
        self.settings = settings
        bitrate = rendition.bitrate
        keyframeQuantizer = suitableKeyframeQuantizer
    }

    private var suitableKeyframeQuantizer: Int? {
        let pixels = rendition.width * rendition.height
        // A page of text, of two bits a pixel or one, is sent in a quarter of a second.
        if keyframeInterval != nil, bitrate >= 2 * pixels { return rendition.codec.fineQuantizer }
        return bitrate >= pixels ? rendition.codec.sharpQuantizer : nil
    }

    private var keyframeLimit: Int { bitrate / 8 * 5 / 4 }

    mutating func setBitrate(_ bitrate: Int) {
        guard bitrate != self.bitrate else { return }
        self.bitrate = bitrate
        patchBudget.setBitrate(bitrate)
        linkBudget.setBitrate(bitrate)
        keyframeQuantizer = suitableKeyframeQuantizer
    }

    mutating func setKeyframeInterval(_ demanded: Duration?) {
        let interval = [settings.keyframeInterval, demanded].compactMap(\.self).min()
        guard interval != keyframeInterval else { return }
        cadence.keyframeInterval = interval
        keyframeQuantizer = suitableKeyframeQuantizer
    }

    mutating func setLink(_ rate: Int?, isMeasuring: Bool = false) {
        linkBudget.setLinkRate(rate)
        defer { measuresLink = isMeasuring }
        // The small first picture has measured the link. If that carries more, the whole picture follows as if it were new.
        guard measuresLink, !isMeasuring, rate != nil, !isThin, keyframeIsCurrent else { return }
        var all = BlockSet(rendition.size, side: BlockSet.macroblock)
        all.insert(PixelRect(rendition.size))
        sharpness.noteChanges(all)
        pictureIsNew = true
        cadence.noteNewPicture()
    }

    var isThin: Bool { linkBudget.isThin }

    var earliest: Instant { cadence.earliest }

    var repetition: Instant { cadence.repetition }

    mutating func noteNewPicture(_ changed: BlockSet, _ scroll: Scroll?) {
        // Receivers have the picture before only if it was sent.
        self.scroll = !pictureIsNew && encoder.canPatch ? scroll : nil
        if self.scroll != nil { sharpness.noteScroll() }
        sharpness.noteChanges(changed)
        pictureIsNew = true
        keyframeIsCurrent = false
        cadence.noteNewPicture()
    }

    mutating func noteKeyframeRequest() { cadence.noteKeyframeRequest() }

    func action(at now: Instant) -> Cadence.Action { cadence.action(at: now) }

    mutating func encode(capturedAt: Instant, _ planned: Cadence.Action, now: Instant) -> ToyEncoder.Frame? {
        // A picture that is sent again shows the screen as it still is. So does one that was captured about when the one
        // before was sent again, or before there was a stream.
        let isLater = pictureIsNew && capturedAt > lastInstant + self.rendition.interval / 2
        let instant = isLater ? min(capturedAt, now) : max(now, lastInstant + .nanoseconds(1))
        lastInstant = instant
        let choice = choose(for: planned, at: now)
        let action = makesKeyframe(planned, at: now) ? .keyframe : planned
        switch choice {
        case .polish where patchBudget.limit(sharpness.active.count, at: now) == nil, .nothing:
            cadence.postpone(at: now)
            return nil
        default: break
        }
        var delivery: ToyEncoder.Frame?
        var isPatch = false
        // A keyframe that is sharp at once takes fewer bits than a coarse one and its refinement. Macroblocks that scroll are
        // refined slowly, as they are moved as coarse as they are.
        var coarsest: Int?
        if action == .keyframe, now > capturedAt + Self.restTime || scroll != nil || sharpness.isMostlyFine {
            coarsest = keyframeQuantizer
        }
        if action == .keyframe, keyframeIsCurrent, !measuresLink, encoder.repeatableQuantizer ?? .max <= coarsest ?? 63
        {
            delivery = encoder.repeatKeyframe(presentationTime: instant)
        } else if choice == .all || choice == .polish, action != .keyframe, encoder.canPatch {
            if let scroll {
                sharpness.noteMoved(scroll)
                sharpness.chooseMoved(scroll, most: patchBudget.mostRefined(beside: sharpness.active.count, at: now))
            }
            if let limit = patchBudget.limit(sharpness.active.count, at: now) {
                delivery = encoder.patch(
                    presentationTime: instant,
                    blocks: sharpness.active,
                    scroll: scroll,
                    // A patch that is given up would also discard the macroblocks that were polished before.
                    limit: choice == .polish ? .max : min(limit, linkBudget.patchLimit ?? limit)
                )
            }
            if let delivery {
                patchBudget.note(delivery.byteCount)
                isPatch = true
            } else if let scroll {
                sharpness.noteChanges(scroll.blocks)
                sharpness.choose(isRefinement: false)
            }
        }
        scroll = nil
        var ownQuantizer: Int?
        if delivery == nil {
            // The encoder does not know the patched macroblocks.
            if let patched = encoder.patchedBlocks {
                sharpness.noteChanges(patched)
                if choice.isRefinement {
                    sharpness.chooseChanged(besideChosen: true)
                } else if pictureIsNew {
                    sharpness.choose(isRefinement: false)
                } else {
                    sharpness.chooseRefinement()
                }
            }
            noteNeed(action, at: now)
            ownQuantizer = quantizer(for: choice, action, at: now)
            delivery = encoder.encode(
                presentationTime: instant,
                forceKeyframe: action == .keyframe,
                quantizers: ownQuantizer.map { $0...$0 } ?? coarsest.map { 0...$0 },
                active: sharpness.active.isNearlyFull ? nil : sharpness.active,
                isThorough: isThorough(choice, action)
            )
        }
        let frame = delivery
        if let frame {
            linkBudget.note(
                delivery?.byteCount ?? 0,
                quantizer: frame.quantizer,
                blocks: ownQuantizer == nil || measuresLink
                    ? nil : frame.isKeyframe ? sharpness.count : sharpness.active.count,
                isNews: pictureIsNew && !measuresLink,
                at: now
            )
            if frame.isKeyframe {
                keyframeIsCurrent = true
                if coarsest == rendition.codec.fineQuantizer, delivery?.byteCount ?? 0 > keyframeLimit {
                    keyframeQuantizer = rendition.codec.sharpQuantizer
                }
                sharpness.noteKeyframe(quantizer: frame.quantizer)
            } else {
                sharpness.noteEncoded(
                    quantizer: frame.quantizer,
                    byRateControl: !isPatch && ownQuantizer == nil,
                    isFiltered: !isPatch && encoder.canPatch
                )
            }
        }
        cadence.noteEncoded(
            at: now,
            isKeyframe: frame?.isKeyframe ?? false,
            isDropped: frame == nil,
            isFine: sharpness.isFine
        )
        if delivery != nil { pictureIsNew = false }
        return frame
    }

    private enum Choice: Equatable {
        case all
        case part
        case refinement(quantizer: Int)
        case polish
        case nothing

        var isRefinement: Bool { if case .refinement = self { true } else { false } }
    }

    private mutating func choose(for action: Cadence.Action, at now: Instant) -> Choice {
        if action == .keepAlive {
            sharpness.chooseNone()
        } else if measuresLink, action == .frame, !pictureIsNew {
            return .nothing
        } else if action == .frame, !pictureIsNew, linkBudget.isThin,
            sharpness.coarsest > rendition.codec.sharpQuantizer
        {
            guard let part = linkBudget.refinement(of: sharpness.coarsest, at: now) else { return .nothing }
            sharpness.chooseLatest(beyond: part.quantizer, most: part.blocks)
            return .refinement(quantizer: part.quantizer)
        } else if pictureIsNew, encoder.canPatch || rendition.codec == .av1 {
            chooseNews(at: now)
        } else if !encoder.canPatch {
            sharpness.choose(isRefinement: !pictureIsNew)
        } else if action == .frame, sharpness.choosePolishing(most: patchBudget.mostPolished(at: now)) {
            return .polish
        } else {
            sharpness.chooseRefinement()
            return sharpness.active.count < sharpness.coarseCount ? .part : .all
        }
        return .all
    }

    private func makesKeyframe(_ action: Cadence.Action, at now: Instant) -> Bool {
        action == .frame && pictureIsNew && !measuresLink
            && linkBudget.makesKeyframe(sharpness.active.count, of: sharpness.count, at: now)
    }

    private func isThorough(_ choice: Choice, _ action: Cadence.Action) -> Bool {
        if action == .keyframe { return linkBudget.isThin || measuresLink }
        let isSmall = sharpness.active.count * Self.thoroughShare <= sharpness.count
        return choice.isRefinement && isSmall && sharpness.count <= Self.mostThorough
    }

    private mutating func noteNeed(_ action: Cadence.Action, at now: Instant) {
        let isNews = pictureIsNew && rendition.codec != .av1
        let blocks = action == .keyframe ? sharpness.count : isNews ? sharpness.active.count : 0
        guard !measuresLink, linkBudget.asksForNeed(blocks, of: sharpness.count, at: now) else { return }
        if let need = encoder.need() { linkBudget.setNeed(need) }
    }

    private mutating func quantizer(for choice: Choice, _ action: Cadence.Action, at now: Instant) -> Int? {
        if case .refinement(let quantizer) = choice { return quantizer }
        switch action {
        case .keyframe where measuresLink: return rendition.codec.readableQuantizer
        case .keyframe:
            return linkBudget.isThin ? linkBudget.newsQuantizer(sharpness.count, isKeyframe: true, at: now) : nil
        case .frame where pictureIsNew:
            let blocks = sharpness.active.count
            let isLarge = blocks > PatchBudget.mostBlocks && !cadence.isSteady(at: now)
            guard isLarge || linkBudget.isThin else { return nil }
            return linkBudget.newsQuantizer(blocks, isKeyframe: false, at: now)
        default: return nil
        }
    }

    private mutating func chooseNews(at now: Instant) {
        // A small change does not wait for the rest to get better, if there is time for that before the next one.
        if scroll == nil, !cadence.isSteady(at: now) {
            sharpness.chooseChanged()
            // Over a thin link, the rest of AV1's picture gets better in parts.
            let isAlone = linkBudget.isThin && !encoder.canPatch
            if isAlone || patchBudget.limit(sharpness.active.count, at: now) != nil { return }
        }
        sharpness.choose(isRefinement: false)
    }
}

extension BlockSet {
    fileprivate var isNearlyFull: Bool { count * 8 > columns * rows * 7 }
}
