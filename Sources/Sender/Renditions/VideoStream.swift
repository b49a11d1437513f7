package import Media
package import Pixels
import Posix
package import Time
package import VideoEncoding

/// One rendition of the picture: an encoder that carries out the plans of a `FramePlanner`.
package final class VideoStream {
    package let rendition: Rendition
    private let clock: () -> Instant
    private var encoder: VideoEncoder
    private var planner: FramePlanner
    /// Made when a link is thin.
    private var probe: ContentProbe?

    package init(
        _ rendition: Rendition,
        _ settings: SenderSettings,
        clock: @escaping () -> Instant = MonotonicClock.now
    ) throws(VideoEncoderError) {
        var configuration = VideoEncoderConfiguration(
            codec: rendition.codec,
            size: rendition.size,
            targetBitrate: rendition.bitrate
        )
        configuration.framesPerSecond = rendition.framesPerSecond
        configuration.vp8Profile = settings.vp8Profile
        configuration.allowsPatches = settings.allowsPatches
        encoder = try VideoEncoder(configuration)
        planner = FramePlanner(rendition, settings, at: clock())
        self.clock = clock
        self.rendition = rendition
    }

    /// Changes the target of rate control from the next frame on, in bits a second. It needs no keyframe.
    package func setBitrate(_ bitrate: Int) throws(VideoEncoderError) {
        guard bitrate != encoder.configuration.targetBitrate else { return }
        try encoder.setBitrate(bitrate)
        planner.setBitrate(bitrate)
    }

    /// Sets the longest time between keyframes without a request; nil if the receivers need none. A shorter interval of
    /// the settings stays.
    package func setKeyframeInterval(_ demanded: Duration?) { planner.setKeyframeInterval(demanded) }

    /// Sets the rate of the receivers' links.
    ///
    /// - Parameters:
    ///   - rate: bits a second; nil if unknown.
    ///   - isMeasuring: whether the next frames measure it.
    package func setLink(_ rate: Int?, isMeasuring: Bool = false) { planner.setLink(rate, isMeasuring: isMeasuring) }

    /// Whether the receivers' links are so slow that every byte counts.
    var isThin: Bool { planner.isThin }

    /// Copies the picture that decoders show now, by the encoder's account. Returns false if there is none.
    package func copyReference(into picture: inout PlanarPicture) -> Bool { encoder.copyReference(into: &picture) }

    var earliest: Instant { planner.cadence.earliest }

    package var repetition: Instant { planner.cadence.repetition }

    /// The picture has changed in these macroblocks.
    ///
    /// - Parameter scroll: those among them that have only moved since the picture before.
    package func noteNewPicture(_ changed: BlockSet, _ scroll: Scroll?) {
        planner.noteNewPicture(changed, scroll, canPatch: encoder.canPatch)
    }

    package func noteKeyframeRequest() { planner.cadence.noteKeyframeRequest() }

    package func action(at now: Instant) -> Cadence.Action { planner.cadence.action(at: now) }

    /// Encodes the picture, and gives the frame to `send`. Returns nil if the bitrate allows no frame now.
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
        let instant = planner.presentationTime(of: capturedAt, at: now)
        let abilities = FramePlanner.Abilities(
            canPatch: encoder.canPatch,
            repeatableQuantizer: encoder.repeatableQuantizer
        )
        var plan = planner.plan(planned, of: capturedAt, by: abilities, at: now)
        let rendition = rendition
        func deliver(_ frame: EncodingResult, _ data: Span<UInt8>) -> FramePlanner.Delivery {
            let start: Duration = MonotonicClock.threadTime()
            let encoded = EncodedFrame(
                rendition: rendition.id,
                isKeyframe: frame.isKeyframe,
                dimensions: (UInt16(rendition.width), UInt16(rendition.height)),
                capturedAt: instant,
                captureTime: capturedAt
            )
            send(data, encoded)
            statistics.sendTime += MonotonicClock.threadTime() - start
            return (frame, data.count)
        }
        var delivery: FramePlanner.Delivery?
        switch plan.step {
        case .wait: return nil
        case .repeatKeyframe:
            delivery = try encoder.repeatKeyframe(presentationTime: instant, deliver)
            statistics.keyframesRepeated += 1
        case .patch(let limit):
            delivery = try encoder.patch(
                picture,
                presentationTime: instant,
                blocks: planner.active,
                scroll: planner.scroll,
                limit: limit,
                deliver
            )
        case .encode: break
        }
        if delivery == nil { delivery = try encode(picture, &plan, presentationTime: instant, now: now, deliver) }
        note(delivery, of: plan, presentationTime: instant, now: now, &statistics)
        verify(picture, at: now)
        return delivery?.frame
    }

    private func verify(_ picture: borrowing NV12Picture, at now: Instant) {
        guard planner.asksForErrors(at: now) else { return }
        var errors = BlockSet(rendition.size, side: BlockSet.macroblock)
        encoder.findErrors(of: picture, in: &errors)
        planner.noteErrors(errors, at: now)
    }

    /// Lets the encoder itself make the frame of a plan. Returns nil if it gives none.
    private func encode(
        _ picture: borrowing NV12Picture,
        _ plan: inout FramePlanner.Plan,
        presentationTime: Instant,
        now: Instant,
        _ deliver: (EncodingResult, Span<UInt8>) -> FramePlanner.Delivery
    ) throws(VideoEncoderError) -> FramePlanner.Delivery? {
        planner.beginEncoding(&plan, patched: encoder.patchedBlocks)
        if planner.asksForNeed(plan, at: now) {
            probe = probe ?? ContentProbe(rendition.codec, rendition.size)
            if let need = probe?.need(of: picture) { planner.linkBudget.setNeed(need) }
        }
        let quantizers = planner.quantizers(of: &plan, at: now)
        return try encoder.encode(
            picture,
            presentationTime: presentationTime,
            forceKeyframe: plan.action == .keyframe,
            quantizers: quantizers,
            active: planner.activeMap,
            isThorough: planner.isThorough(plan),
            deliver
        )
    }

    private func note(
        _ delivery: FramePlanner.Delivery?,
        of plan: FramePlanner.Plan,
        presentationTime: Instant,
        now: Instant,
        _ statistics: inout SenderStatistics
    ) {
        let isNews = planner.pictureIsNew
        planner.note(delivery, canPatch: encoder.canPatch, of: plan, at: now)
        guard let delivery else {
            statistics.framesDropped += 1
            return
        }
        statistics.note(delivery.frame, byteCount: delivery.byteCount, at: now)
        if isNews { statistics.latency = max(clock(), presentationTime) - presentationTime }
    }
}

extension Rendition {
    package var size: PixelSize { PixelSize(width: width, height: height) }
}
