package import Media
package import Pixels
import Posix
package import Time
package import VideoEncoding

/// One rendition of the picture: its encoder, and the choice of when and what that encodes.
package final class VideoStream {
    /// A picture that has not changed for so long is taken to stay a while.
    private static let restTime = Duration.milliseconds(500)
    /// Refinements of at most one part in so many of the picture are encoded thoroughly: in 35 ms at 1280x720.
    private static let thoroughShare = 8
    /// The macroblocks of the largest picture whose refinements are encoded thoroughly: 1920x1088 pixels.
    private static let mostThorough = 8160

    /// An encoded frame that was given to `send`: its size, and the processor time that `send` took.
    private struct Delivery {
        let frame: EncodingResult
        let byteCount: Int
        let time: Duration
    }

    package let rendition: Rendition
    private let settings: SenderSettings
    /// The target of rate control, in bits a second.
    private var bitrate: Int
    private let clock: () -> Instant
    /// Time between keyframes that nobody asked for; nil for none.
    private var keyframeInterval: Duration? { cadence.keyframeInterval }
    /// The quantizer of a keyframe of a picture that stays; nil for rate control's own.
    private var keyframeQuantizer: Int?
    private var encoder: VideoEncoder
    private var cadence: Cadence
    private var sharpness: Sharpness
    private var patchBudget: PatchBudget
    private var linkBudget: LinkBudget
    /// Made when a link is thin.
    private var probe: ContentProbe?
    private var pictureIsNew = true
    /// Whether the next frames show what the links carry.
    private var measuresLink = false
    /// Whether the last keyframe shows the picture.
    private var keyframeIsCurrent = false
    /// The scroll of the new picture; nil if no part of it has only moved.
    private var scroll: Scroll?
    /// The instant of the last frame that was encoded.
    private var lastInstant: Instant

    package init(
        _ rendition: Rendition,
        _ settings: SenderSettings,
        clock: @escaping () -> Instant = MonotonicClock.now
    ) throws(VideoEncoderError) {
        encoder = try VideoEncoder(
            VideoEncoderConfiguration(
                codec: rendition.codec,
                size: rendition.size,
                targetBitrate: rendition.bitrate,
                framesPerSecond: rendition.framesPerSecond,
                dropThreshold: settings.dropThreshold,
                vp8Profile: settings.vp8Profile,
                allowsPatches: settings.allowsPatches
            )
        )
        // A picture that has stood still since long before starts the stream now, not in the past.
        lastInstant = clock()
        cadence = Cadence(
            interval: rendition.interval,
            keyframeInterval: settings.keyframeInterval,
            from: lastInstant
        )
        patchBudget = PatchBudget(bitrate: rendition.bitrate)
        linkBudget = LinkBudget(rendition.codec, bitrate: rendition.bitrate)
        let codec = rendition.codec
        sharpness = Sharpness(
            rendition.size,
            fineQuantizer: settings.allowsPatches ? codec.convergedQuantizer : codec.convergedQuantizerUnpatched
        )
        self.clock = clock
        self.rendition = rendition
        self.settings = settings
        bitrate = rendition.bitrate
        keyframeQuantizer = suitableKeyframeQuantizer
    }

    /// With periodic keyframes each is to be sharp by itself: no refinement follows one that is repeated.
    private var suitableKeyframeQuantizer: Int? {
        let pixels = rendition.width * rendition.height
        // A page of text, of two bits a pixel or one, is sent in a quarter of a second.
        if keyframeInterval != nil, bitrate >= 2 * pixels { return rendition.codec.fineQuantizer }
        return bitrate >= pixels ? rendition.codec.sharpQuantizer : nil
    }

    /// The largest keyframe at the fine quantizer, in bytes: it is sent in a quarter of a second at five times the bitrate.
    private var keyframeLimit: Int { bitrate / 8 * 5 / 4 }

    /// Changes the target of rate control from the next frame on, in bits a second; that needs no keyframe.
    package func setBitrate(_ bitrate: Int) throws(VideoEncoderError) {
        guard bitrate != self.bitrate else { return }
        try encoder.setBitrate(bitrate)
        self.bitrate = bitrate
        patchBudget.setBitrate(bitrate)
        linkBudget.setBitrate(bitrate)
        keyframeQuantizer = suitableKeyframeQuantizer
    }

    /// Says how far keyframes may be apart that nobody asks for; nil if the receivers need none. An interval of the settings that is
    /// shorter stays.
    package func setKeyframeInterval(_ demanded: Duration?) {
        let interval = [settings.keyframeInterval, demanded].compactMap(\.self).min()
        guard interval != keyframeInterval else { return }
        cadence.keyframeInterval = interval
        keyframeQuantizer = suitableKeyframeQuantizer
    }

    /// Sets the rate of the receivers' links.
    ///
    /// - Parameters:
    ///   - rate: bits a second; nil if it is not known.
    ///   - isMeasuring: whether the next frames show it.
    package func setLink(_ rate: Int?, isMeasuring: Bool = false) {
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

    /// Whether the receivers' links carry so little that every byte counts.
    var isThin: Bool { linkBudget.isThin }

    /// Copies the picture that decoders show now, by the encoder's account. Returns false when there is none.
    package func copyReference(into picture: inout PlanarPicture) -> Bool { encoder.copyReference(into: &picture) }

    /// The earliest instant of the next picture.
    var earliest: Instant { cadence.earliest }

    /// When a picture that stands still is to be encoded again.
    package var repetition: Instant { cadence.repetition }

    /// The picture has changed in these macroblocks.
    ///
    /// - Parameter scroll: the macroblocks among them that have only moved since the picture before.
    package func noteNewPicture(_ changed: BlockSet, _ scroll: Scroll?) {
        // Receivers have the picture before only if it was sent.
        self.scroll = !pictureIsNew && encoder.canPatch ? scroll : nil
        if self.scroll != nil { sharpness.noteScroll() }
        sharpness.noteChanges(changed)
        pictureIsNew = true
        keyframeIsCurrent = false
        cadence.noteNewPicture()
    }

    package func noteKeyframeRequest() { cadence.noteKeyframeRequest() }

    package func action(at now: Instant) -> Cadence.Action { cadence.action(at: now) }

    /// Encodes the picture and gives the encoded frame to `send`. Returns nil when the bitrate allows no frame now.
    ///
    /// - Parameter send: gets the frame's bytes, which are valid until it returns.
    package func encode(
        _ picture: borrowing NV12Picture,
        capturedAt: Instant,
        _ planned: Cadence.Action,
        now: Instant,
        _ statistics: inout SenderStatistics,
        send: (Span<UInt8>, EncodedFrame) -> Void
    ) throws(VideoEncoderError) -> EncodingResult? {
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
        let rendition = rendition
        func deliver(_ frame: EncodingResult, _ data: Span<UInt8>) -> Delivery {
            let start: Duration = MonotonicClock.threadTime()
            let encoded = EncodedFrame(
                rendition: rendition.id,
                isKeyframe: frame.isKeyframe,
                dimensions: (UInt16(rendition.width), UInt16(rendition.height)),
                capturedAt: instant,
                takenAt: capturedAt
            )
            send(data, encoded)
            return Delivery(frame: frame, byteCount: data.count, time: MonotonicClock.threadTime() - start)
        }
        var delivery: Delivery?
        var isPatch = false
        // A keyframe that is sharp at once takes fewer bits than a coarse one and its refinement. Macroblocks that scroll are
        // refined slowly, as they are moved as coarse as they are.
        var coarsest: Int?
        if action == .keyframe, now > capturedAt + Self.restTime || scroll != nil || sharpness.isMostlyFine {
            coarsest = keyframeQuantizer
        }
        if action == .keyframe, keyframeIsCurrent, !measuresLink, encoder.repeatableQuantizer ?? .max <= coarsest ?? 63
        {
            delivery = try encoder.repeatKeyframe(presentationTime: instant, deliver)
            statistics.keyframesRepeated += 1
        } else if choice == .all || choice == .polish, action != .keyframe, encoder.canPatch {
            if let scroll {
                sharpness.noteMoved(scroll)
                sharpness.chooseMoved(scroll, most: patchBudget.mostRefined(beside: sharpness.active.count, at: now))
            }
            if let limit = patchBudget.limit(sharpness.active.count, at: now) {
                delivery = try encoder.patch(
                    picture,
                    presentationTime: instant,
                    blocks: sharpness.active,
                    scroll: scroll,
                    // A patch that is given up would also discard the macroblocks that were polished before.
                    limit: choice == .polish ? .max : min(limit, linkBudget.patchLimit ?? limit),
                    deliver
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
            noteNeed(of: picture, action, at: now)
            ownQuantizer = quantizer(for: choice, action, at: now)
            delivery = try encoder.encode(
                picture,
                presentationTime: instant,
                forceKeyframe: action == .keyframe,
                quantizers: ownQuantizer.map { $0...$0 } ?? coarsest.map { 0...$0 },
                active: sharpness.active.isNearlyFull ? nil : sharpness.active,
                isThorough: isThorough(choice, action),
                deliver
            )
        }
        let frame = delivery?.frame
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
        if let delivery {
            statistics.note(delivery.frame, byteCount: delivery.byteCount, at: now)
            statistics.sendTime += delivery.time
            if pictureIsNew { statistics.latency = max(clock(), instant) - instant }
            pictureIsNew = false
        } else {
            statistics.framesDropped += 1
        }
        return frame
    }

    /// Which macroblocks were chosen.
    private enum Choice: Equatable {
        /// All that there is to encode.
        case all
        /// A part of what is coarse.
        case part
        /// A part that gets this quantizer, as the link is thin.
        case refinement(quantizer: Int)
        /// A few that are nearly fine.
        case polish
        /// None, as the link is busy.
        case nothing

        var isRefinement: Bool { if case .refinement = self { true } else { false } }
    }

    /// Chooses the macroblocks of the next frame.
    private func choose(for action: Cadence.Action, at now: Instant) -> Choice {
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

    /// Whether the macroblocks that were chosen are a page that is cheaper as a keyframe.
    private func makesKeyframe(_ action: Cadence.Action, at now: Instant) -> Bool {
        action == .frame && pictureIsNew && !measuresLink
            && linkBudget.makesKeyframe(sharpness.active.count, of: sharpness.count, at: now)
    }

    /// Whether a frame is worth more time for fewer bytes: not if it would take longer to encode than to send.
    private func isThorough(_ choice: Choice, _ action: Cadence.Action) -> Bool {
        if action == .keyframe { return linkBudget.isThin || measuresLink }
        let isSmall = sharpness.active.count * Self.thoroughShare <= sharpness.count
        return choice.isRefinement && isSmall && sharpness.count <= Self.mostThorough
    }

    /// Probes the quantizers that a page needs before it goes over a thin link. For AV1, a probe is valid for keyframes only.
    private func noteNeed(of picture: borrowing NV12Picture, _ action: Cadence.Action, at now: Instant) {
        let isNews = pictureIsNew && rendition.codec != .av1
        let blocks = action == .keyframe ? sharpness.count : isNews ? sharpness.active.count : 0
        guard !measuresLink, linkBudget.asksForNeed(blocks, of: sharpness.count, at: now) else { return }
        probe = probe ?? ContentProbe(rendition.codec, rendition.size)
        if let need = probe?.need(of: picture) { linkBudget.setNeed(need) }
    }

    /// The quantizer of a frame of the encoder's own; nil leaves it to rate control.
    private func quantizer(for choice: Choice, _ action: Cadence.Action, at now: Instant) -> Int? {
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

    private func chooseNews(at now: Instant) {
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

extension Rendition {
    package var size: PixelSize { PixelSize(width: width, height: height) }
}

extension BlockSet {
    /// A map of hardly anything but active macroblocks costs more than none.
    fileprivate var isNearlyFull: Bool { count * 8 > columns * rows * 7 }
}
