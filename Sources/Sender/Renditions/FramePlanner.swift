import Media
import Pixels
import Time
import VideoEncoding

/// Plans the next frame of a stream, and keeps account of the picture in decoders. Sans-IO: the stream reports the
/// encoder's abilities, carries out the plan's step, and reports the outcome.
///
/// Call `note` after each plan, except for `wait`. Before the encoder itself makes the frame, call `beginEncoding` and
/// then `quantizers`.
struct FramePlanner {
    /// A picture without changes for this long is expected to stay a while.
    private static let restTime = Duration.milliseconds(500)

    let rendition: Rendition
    /// The interval of the settings; nil for none.
    private let leastKeyframeInterval: Duration?
    /// The target of rate control, in bits a second.
    private var bitrate: Int
    /// The quantizer of a keyframe of a picture at rest; nil for rate control's own.
    var keyframeQuantizer: Int?
    var cadence: Cadence
    var sharpness: Sharpness
    var patchBudget: PatchBudget
    var linkBudget: LinkBudget
    var verification = Verification()
    var content = Content.new(nil)
    /// Whether the next frames measure the links.
    var measuresLink = false
    /// Whether the last keyframe shows the picture.
    var keyframeIsCurrent = false
    private var lastInstant: Instant

    /// - Parameter now: the stream's start, even if the picture has not changed for long.
    init(_ rendition: Rendition, _ settings: SenderSettings, at now: Instant) {
        self.rendition = rendition
        leastKeyframeInterval = settings.keyframeInterval
        bitrate = rendition.bitrate
        cadence = Cadence(interval: rendition.interval, keyframeInterval: settings.keyframeInterval, from: now)
        patchBudget = PatchBudget(bitrate: rendition.bitrate)
        linkBudget = LinkBudget(rendition.codec, bitrate: rendition.bitrate)
        let codec = rendition.codec
        sharpness = Sharpness(
            rendition.size,
            fineQuantizer: settings.allowsPatches ? codec.convergedQuantizer : codec.convergedQuantizerUnpatched
        )
        lastInstant = now
        keyframeQuantizer = suitableKeyframeQuantizer
    }

    /// Each periodic keyframe must be sharp by itself: a repeated one is not refined.
    private var suitableKeyframeQuantizer: Int? {
        let pixels = rendition.width * rendition.height
        // A page of text, of two bits a pixel or one, is sent in a quarter of a second.
        if cadence.keyframeInterval != nil, bitrate >= 2 * pixels { return rendition.codec.fineQuantizer }
        return bitrate >= pixels ? rendition.codec.sharpQuantizer : nil
    }

    /// The largest keyframe at the fine quantizer, in bytes: it is sent in a quarter of a second at five times the
    /// bitrate.
    var keyframeLimit: Int { bitrate / 8 * 5 / 4 }

    /// Whether the picture has changed since it was sent.
    var pictureIsNew: Bool { if case .new = content { true } else { false } }

    /// The scroll of the new picture; nil if no part of it has only moved.
    var scroll: Scroll? { if case .new(let scroll) = content { scroll } else { nil } }

    /// The macroblocks of the next frame. A copy that lives while the frame is noted costs an allocation.
    var active: BlockSet { sharpness.active }

    /// The macroblocks to encode; nil for all. A map of almost only active macroblocks costs more than none.
    var activeMap: BlockSet? {
        let active = sharpness.active
        return active.count * 8 > active.columns * active.rows * 7 ? nil : active
    }

    var isThin: Bool { linkBudget.isThin }

    mutating func setBitrate(_ bitrate: Int) {
        guard bitrate != self.bitrate else { return }
        self.bitrate = bitrate
        patchBudget.setBitrate(bitrate)
        linkBudget.setBitrate(bitrate)
        keyframeQuantizer = suitableKeyframeQuantizer
    }

    mutating func setKeyframeInterval(_ demanded: Duration?) {
        let interval = [leastKeyframeInterval, demanded].compactMap(\.self).min()
        guard interval != cadence.keyframeInterval else { return }
        cadence.keyframeInterval = interval
        keyframeQuantizer = suitableKeyframeQuantizer
    }

    mutating func setLink(_ rate: Int?, isMeasuring: Bool) {
        linkBudget.setLinkRate(rate)
        defer { measuresLink = isMeasuring }
        // The small first picture has measured the link. If that is not thin, the whole picture follows like a new one.
        guard measuresLink, !isMeasuring, rate != nil, !isThin, keyframeIsCurrent else { return }
        var all = BlockSet(rendition.size, side: BlockSet.macroblock)
        all.insertAll()
        sharpness.noteChanges(all)
        content = .new(nil)
        cadence.noteNewPicture()
    }

    mutating func noteNewPicture(_ changed: BlockSet, _ scroll: Scroll?, canPatch: Bool) {
        // Receivers have the picture before only if it was sent.
        let scroll = !pictureIsNew && canPatch ? scroll : nil
        if scroll != nil { sharpness.noteScroll() }
        sharpness.noteChanges(changed)
        content = .new(scroll)
        keyframeIsCurrent = false
        verification.noteNewPicture()
        cadence.noteNewPicture()
    }

    /// The presentation time of the next frame, later than all before.
    ///
    /// A repeated picture shows the present screen. So does one that was captured at about the time of the last
    /// repetition, or before there was a stream.
    mutating func presentationTime(of capturedAt: Instant, at now: Instant) -> Instant {
        let isLater = pictureIsNew && capturedAt > lastInstant + rendition.interval / 2
        lastInstant = isLater ? min(capturedAt, now) : max(now, lastInstant + .nanoseconds(1))
        return lastInstant
    }
}

// The choice of the next frame.
extension FramePlanner {
    mutating func plan(
        _ planned: Cadence.Action,
        of capturedAt: Instant,
        by encoder: Abilities,
        at now: Instant
    ) -> Plan {
        let choice = choose(for: planned, by: encoder, at: now)
        let action = makesKeyframe(planned, at: now) ? .keyframe : planned
        // A keyframe that is sharp at once takes fewer bytes than a coarse one and its refinement. Scrolled macroblocks
        // are refined slowly, as moving keeps them coarse.
        let isSharp =
            action == .keyframe
            && (now > capturedAt + Self.restTime || scroll != nil || sharpness.isMostlyFine)
        var plan = Plan(action: action, choice: choice, coarsest: isSharp ? keyframeQuantizer : nil)
        plan.step = step(of: plan, by: encoder, at: now)
        if plan.step == .wait { cadence.postpone(at: now) }
        return plan
    }

    private mutating func step(of plan: Plan, by encoder: Abilities, at now: Instant) -> Step {
        switch plan.choice {
        case .nothing: return .wait
        case .polish where patchBudget.limit(active.count, at: now) == nil: return .wait
        default: break
        }
        if plan.action == .keyframe {
            let isRepeated =
                keyframeIsCurrent && !measuresLink && encoder.repeatableQuantizer ?? .max <= plan.coarsest ?? 63
            return isRepeated ? .repeatKeyframe : .encode
        }
        guard plan.choice == .all || plan.choice == .polish, encoder.canPatch else { return .encode }
        if let scroll {
            sharpness.noteMoved(scroll)
            sharpness.chooseMoved(scroll, most: patchBudget.mostRefined(beside: active.count, at: now))
        }
        guard let limit = patchBudget.limit(active.count, at: now) else {
            giveUpPatch()
            return .encode
        }
        // Giving up a patch would also discard the macroblocks polished before.
        return .patch(limit: plan.choice == .polish ? .max : min(limit, linkBudget.patchLimit ?? limit))
    }

    /// Treats a scroll like any other change: nothing is moved.
    mutating func giveUpPatch() {
        guard let scroll else { return }
        sharpness.noteChanges(scroll.blocks)
        sharpness.choose(isRefinement: false)
    }

    private mutating func choose(for action: Cadence.Action, by encoder: Abilities, at now: Instant) -> Choice {
        if action == .keepAlive {
            sharpness.chooseNone()
        } else if measuresLink, action == .frame, !pictureIsNew {
            return .nothing
        } else if action == .frame, !pictureIsNew, isThin, sharpness.coarsest > rendition.codec.sharpQuantizer {
            guard let part = linkBudget.refinement(of: sharpness.coarsest, at: now) else { return .nothing }
            sharpness.chooseLatest(beyond: part.quantizer, most: part.blocks)
            return .refinement(quantizer: part.quantizer)
        } else if pictureIsNew, encoder.canPatch || rendition.codec == .av1 {
            chooseNews(canPatch: encoder.canPatch, at: now)
        } else if !encoder.canPatch {
            sharpness.choose(isRefinement: !pictureIsNew)
        } else if action == .frame, sharpness.choosePolishing(most: patchBudget.mostPolished(at: now)) {
            return .polish
        } else {
            sharpness.chooseRefinement()
            return active.count < sharpness.coarseCount ? .part : .all
        }
        return .all
    }

    private mutating func chooseNews(canPatch: Bool, at now: Instant) {
        // A small change does not wait for the rest to get better, if there is time for that before the next one.
        if scroll == nil, !cadence.isSteady(at: now) {
            sharpness.chooseChanged()
            // Over a thin link, the rest of AV1's picture gets better in parts.
            let isAlone = isThin && !canPatch
            if isAlone || patchBudget.limit(active.count, at: now) != nil { return }
        }
        sharpness.choose(isRefinement: false)
    }

    /// Whether the chosen macroblocks are a page that is cheaper as a keyframe.
    private func makesKeyframe(_ action: Cadence.Action, at now: Instant) -> Bool {
        action == .frame && pictureIsNew && !measuresLink
            && linkBudget.makesKeyframe(active.count, of: sharpness.count, at: now)
    }
}
