import Media
import Pixels
import Time
import VideoEncoding

// Frames from the encoder itself, and the outcomes of plans.
extension FramePlanner {
    /// Refinements of at most an eighth of the picture are encoded thoroughly: in 35 ms at 1280x720.
    private static let thoroughShare = 8
    /// The most macroblocks of a picture whose refinements are encoded thoroughly: 1920x1088 pixels.
    private static let mostThorough = 8160

    /// Starts a frame from the encoder itself: by plan, or because the step before gave none.
    ///
    /// - Parameter patched: the macroblocks changed by patches, unknown to the encoder; nil for none.
    mutating func beginEncoding(_ plan: inout Plan, patched: BlockSet?) {
        if case .patch = plan.step { giveUpPatch() }
        plan.step = .encode
        // The encoder moves nothing. If it drops the frame, receivers do not have the picture before.
        if pictureIsNew { content = .new(nil) }
        guard let patched else { return }
        sharpness.noteChanges(patched)
        if plan.choice.isRefinement {
            sharpness.chooseChanged(besideChosen: true)
        } else if pictureIsNew {
            sharpness.choose(isRefinement: false)
        } else {
            sharpness.chooseRefinement()
        }
    }

    /// Whether a page goes over a thin link. Then probe and set the quantizers that it needs, before its `quantizers`.
    /// For AV1, a probe is valid for keyframes only.
    func asksForNeed(_ plan: Plan, at now: Instant) -> Bool {
        let isNews = pictureIsNew && rendition.codec != .av1
        let blocks = plan.action == .keyframe ? sharpness.count : isNews ? active.count : 0
        return !measuresLink && linkBudget.asksForNeed(blocks, of: sharpness.count, at: now)
    }

    /// The quantizers of the frame of `activeMap`; nil leaves them to rate control.
    mutating func quantizers(of plan: inout Plan, at now: Instant) -> ClosedRange<Int>? {
        plan.ownQuantizer = quantizer(of: plan, at: now)
        return plan.ownQuantizer.map { $0...$0 } ?? (plan.coarsest ?? repairQuantizer(of: plan)).map { 0...$0 }
    }

    /// The coarsest quantizer of macroblocks that were wrong at a fine one; nil if none are repaired, or slowly over a
    /// thin link.
    private func repairQuantizer(of plan: Plan) -> Int? {
        let isRepair = verification.isRepairing && plan.action == .frame && !isThin
        return isRepair ? rendition.codec.fineQuantizer / 2 : nil
    }

    /// The quantizer of a frame from the encoder itself; nil leaves it to rate control.
    private mutating func quantizer(of plan: Plan, at now: Instant) -> Int? {
        if case .refinement(let quantizer) = plan.choice { return quantizer }
        switch plan.action {
        case .keyframe where measuresLink: return rendition.codec.readableQuantizer
        case .keyframe: return isThin ? linkBudget.newsQuantizer(sharpness.count, isKeyframe: true, at: now) : nil
        case .frame where pictureIsNew:
            let blocks = active.count
            let isLarge = blocks > PatchBudget.mostBlocks && !cadence.isSteady(at: now)
            guard isLarge || isThin else { return nil }
            return linkBudget.newsQuantizer(blocks, isKeyframe: false, at: now)
        default: return nil
        }
    }

    /// Whether a frame is worth more time for fewer bytes: not if encoding would take longer than sending.
    func isThorough(_ plan: Plan) -> Bool {
        if plan.action == .keyframe { return isThin || measuresLink }
        let isSmall = active.count * Self.thoroughShare <= sharpness.count
        let isRefined = plan.choice.isRefinement || verification.isRepairing
        return isRefined && isSmall && sharpness.count <= Self.mostThorough
    }

    /// Whether to compare what decoders show with the picture, and to give the errors to `noteErrors`.
    func asksForErrors(at now: Instant) -> Bool {
        rendition.codec != .vp8 && sharpness.isFine && !pictureIsNew && verification.isDue(at: now)
    }

    /// - Parameter blocks: the macroblocks that are not as in the picture; none if it is right.
    mutating func noteErrors(_ blocks: BlockSet, at now: Instant) {
        guard verification.note(isRight: blocks.isEmpty, at: now) else { return }
        sharpness.noteChanges(blocks)
        cadence.noteErrors()
    }

    /// Records the outcome of a plan.
    ///
    /// - Parameters:
    ///   - delivery: nil if the encoder gave no frame.
    ///   - canPatch: whether the encoder can patch now.
    mutating func note(_ delivery: Delivery?, canPatch: Bool, of plan: Plan, at now: Instant) {
        defer {
            cadence.noteEncoded(
                at: now,
                isKeyframe: delivery?.frame.isKeyframe ?? false,
                isDropped: delivery == nil,
                isFine: sharpness.isFine
            )
        }
        guard let (frame, byteCount) = delivery else { return }
        var isPatch = false
        if case .patch = plan.step { isPatch = true }
        if isPatch { patchBudget.note(byteCount) }
        let isBudgeted = plan.ownQuantizer != nil && !measuresLink
        linkBudget.note(
            byteCount,
            quantizer: frame.quantizer,
            blocks: isBudgeted ? frame.isKeyframe ? sharpness.count : active.count : nil,
            isNews: pictureIsNew && !measuresLink,
            at: now
        )
        if frame.isKeyframe {
            keyframeIsCurrent = true
            if plan.coarsest == rendition.codec.fineQuantizer, byteCount > keyframeLimit {
                keyframeQuantizer = rendition.codec.sharpQuantizer
            }
            sharpness.noteKeyframe(quantizer: frame.quantizer)
            verification.noteNewPicture()
        } else {
            sharpness.noteEncoded(
                quantizer: frame.quantizer,
                byRateControl: !isPatch && plan.ownQuantizer == nil,
                isFiltered: !isPatch && canPatch
            )
        }
        content = .shown
    }
}
