import Media
import Pixels
import Time
import VideoEncoding

/// Decides what the next frame of a stream is, and keeps account of what decoders show. Sans-IO: the stream tells it what the
/// encoder can do, does the plan's step, and tells it the outcome.
///
/// Each plan is followed by `note`, but for one whose step is to wait. Before the encoder itself makes the frame, the stream calls
/// `beginEncoding` and then `parameters`.
struct FramePlanner {
    /// A picture that has not changed for so long is taken to stay a while.
    private static let restTime = Duration.milliseconds(500)

    let rendition: Rendition
    /// The interval of the settings; nil for none.
    private let leastKeyframeInterval: Duration?
    /// The target of rate control, in bits a second.
    private var bitrate: Int
    /// The quantizer of a keyframe of a picture that stays; nil for rate control's own.
    var keyframeQuantizer: Int?
    var cadence: Cadence
    var sharpness: Sharpness
    var patchBudget: PatchBudget
    var linkBudget: LinkBudget
    var content = Content.new(nil)
    /// Whether the next frames show what the links carry.
    var measuresLink = false
    /// Whether the last keyframe shows the picture.
    var keyframeIsCurrent = false
    /// The instant of the last frame.
    private var lastInstant: Instant

    /// - Parameter now: when the stream starts, also with a picture that has stood still since long before.
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

    /// With periodic keyframes each is to be sharp by itself: no refinement follows one that is repeated.
    private var suitableKeyframeQuantizer: Int? {
        let pixels = rendition.width * rendition.height
        // A page of text, of two bits a pixel or one, is sent in a quarter of a second.
        if cadence.keyframeInterval != nil, bitrate >= 2 * pixels { return rendition.codec.fineQuantizer }
        return bitrate >= pixels ? rendition.codec.sharpQuantizer : nil
    }

    /// The largest keyframe at the fine quantizer, in bytes: it is sent in a quarter of a second at five times the bitrate.
    var keyframeLimit: Int { bitrate / 8 * 5 / 4 }

    /// Whether the picture has changed since it was sent.
    var pictureIsNew: Bool { if case .new = content { true } else { false } }

    /// The scroll of the new picture; nil if no part of it has only moved.
    var scroll: Scroll? { if case .new(let scroll) = content { scroll } else { nil } }

    /// The macroblocks of the next frame. A copy that lives while the frame is noted costs an allocation.
    var active: BlockSet { sharpness.active }

    /// The macroblocks that the encoder is to encode; nil for all. A map of hardly anything but active macroblocks costs more than none.
    var activeMap: BlockSet? {
        let active = sharpness.active
        return active.count * 8 > active.columns * active.rows * 7 ? nil : active
    }

    /// Whether the receivers' links carry so little that every byte counts.
    var isThin: Bool { linkBudget.isThin }

    /// - Parameter bitrate: in bits a second.
    mutating func setBitrate(_ bitrate: Int) {
        guard bitrate != self.bitrate else { return }
        self.bitrate = bitrate
        patchBudget.setBitrate(bitrate)
        linkBudget.setBitrate(bitrate)
        keyframeQuantizer = suitableKeyframeQuantizer
    }

    /// - Parameter demanded: how far keyframes may be apart that nobody asks for; nil if the receivers need none. An interval of the
    ///   settings that is shorter stays.
    mutating func setKeyframeInterval(_ demanded: Duration?) {
        let interval = [leastKeyframeInterval, demanded].compactMap(\.self).min()
        guard interval != cadence.keyframeInterval else { return }
        cadence.keyframeInterval = interval
        keyframeQuantizer = suitableKeyframeQuantizer
    }

    /// Sets the rate of the receivers' links.
    ///
    /// - Parameters:
    ///   - rate: bits a second; nil if it is not known.
    ///   - isMeasuring: whether the next frames show it.
    mutating func setLink(_ rate: Int?, isMeasuring: Bool) {
        linkBudget.setLinkRate(rate)
        defer { measuresLink = isMeasuring }
        // The small first picture has measured the link. If that carries more, the whole picture follows as if it were new.
        guard measuresLink, !isMeasuring, rate != nil, !isThin, keyframeIsCurrent else { return }
        var all = BlockSet(rendition.size, side: BlockSet.macroblock)
        all.insertAll()
        sharpness.noteChanges(all)
        content = .new(nil)
        cadence.noteNewPicture()
    }

    /// The picture has changed in these macroblocks.
    ///
    /// - Parameter scroll: the macroblocks among them that have only moved since the picture before.
    mutating func noteNewPicture(_ changed: BlockSet, _ scroll: Scroll?, canPatch: Bool) {
        // Receivers have the picture before only if it was sent.
        let scroll = !pictureIsNew && canPatch ? scroll : nil
        if scroll != nil { sharpness.noteScroll() }
        sharpness.noteChanges(changed)
        content = .new(scroll)
        keyframeIsCurrent = false
        cadence.noteNewPicture()
    }

    mutating func noteKeyframeRequest() { cadence.noteKeyframeRequest() }

    /// The instant that the next frame shows, later than that of every frame before.
    ///
    /// A picture that is sent again shows the screen as it still is. So does one that was captured about when the one before was sent
    /// again, or before there was a stream.
    mutating func presentationTime(of capturedAt: Instant, at now: Instant) -> Instant {
        let isLater = pictureIsNew && capturedAt > lastInstant + rendition.interval / 2
        lastInstant = isLater ? min(capturedAt, now) : max(now, lastInstant + .nanoseconds(1))
        return lastInstant
    }
}

// What the next frame is.
extension FramePlanner {
    /// Plans the frame of an action that is due.
    mutating func plan(
        _ planned: Cadence.Action,
        of capturedAt: Instant,
        by encoder: Abilities,
        at now: Instant
    ) -> Plan {
        let choice = choose(for: planned, by: encoder, at: now)
        let action = makesKeyframe(planned, at: now) ? .keyframe : planned
        // A keyframe that is sharp at once takes fewer bits than a coarse one and its refinement. Macroblocks that scroll are
        // refined slowly, as they are moved as coarse as they are.
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
        // A patch that is given up would also discard the macroblocks that were polished before.
        return .patch(limit: plan.choice == .polish ? .max : min(limit, linkBudget.patchLimit ?? limit))
    }

    /// Nothing is moved: what scrolls is encoded like any other change.
    mutating func giveUpPatch() {
        guard let scroll else { return }
        sharpness.noteChanges(scroll.blocks)
        sharpness.choose(isRefinement: false)
    }

    /// Chooses the macroblocks of the next frame.
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

    /// Whether the macroblocks that were chosen are a page that is cheaper as a keyframe.
    private func makesKeyframe(_ action: Cadence.Action, at now: Instant) -> Bool {
        action == .frame && pictureIsNew && !measuresLink
            && linkBudget.makesKeyframe(active.count, of: sharpness.count, at: now)
    }
}
