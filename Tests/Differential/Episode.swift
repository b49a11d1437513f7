import FrameBridge
import Media
import Pixels
import Posix
import Sender
import TestSupport
import Time
import VideoEncoding

/// One desktop, shared in one size for a while: through the bridge, `ScaledPicture` and `VideoStream` into decoders, by a
/// clock of its own.
struct Episode: ~Copyable {
    private let plan: EpisodePlan
    private var random: SplitMix
    private let clock: Clock
    private var desktop: Desktop
    private var picture: ScaledPicture
    private var capturedAt: Instant?
    private var changed: BlockSet
    private let call = Call()
    private var streams: [VideoStream] = []
    private var reference = PlanarPicture()
    private var isResting: Set<VideoCodec> = []
    /// Whether nobody does anything, and the network neither.
    private var isQuiet = false
    private(set) var tally = Tally()

    init(_ plan: EpisodePlan, _ random: SplitMix, at now: Instant) {
        self.plan = plan
        self.random = random
        clock = Clock(now: now)
        desktop = Desktop(plan.sources[0], &self.random)
        picture = ScaledPicture(size: plan.size)
        changed = BlockSet(plan.size, side: BlockSet.macroblock)
    }

    /// Runs it to its end.
    ///
    /// - Returns: when that was.
    mutating func run(_ writer: inout FrameWriter, _ reader: inout FrameReader) throws -> Instant {
        // Who looks in next must not need what was there before.
        reader.forget()
        for source in plan.sources {
            if source != desktop.size || random.next() & 1 == 0 {
                desktop = Desktop(source, &random)
                writer.startOver()
            }
            for _ in 0..<plan.ticks {
                if Int.random(in: 0..<4, using: &random) > 0 { desktop.work(&random) }
                // A reader that is late skips frames.
                if Int.random(in: 0..<8, using: &random) == 0 {
                    try publish(&writer)
                    desktop.work(&random)
                }
                try tick(&writer, &reader)
                if Int.random(in: 0..<200, using: &random) == 0 { try followCodecs(&reader) }
            }
            try rest(&writer, &reader)
        }
        for receiver in call.receivers.values { try check(receiver.compareDecoders()) }
        return clock.now
    }

    /// One turn of the sender's loop.
    private mutating func tick(_ writer: inout FrameWriter, _ reader: inout FrameReader) throws {
        try publish(&writer)
        if streams.isEmpty { try followCodecs(&reader) }
        if !isQuiet, Int.random(in: 0..<60, using: &random) == 0 { changeViewport(&reader) }
        if !isQuiet, Int.random(in: 0..<90, using: &random) == 0 {
            picture.legibility = Legibility.allCases.randomElement(using: &random)!
            reader.forget()
        }
        if let brightensAt = picture.brightensAt, clock.now >= brightensAt { reader.forget() }
        try readPicture(&reader)
        for stream in streams { try encode(stream) }
        // Mostly on time, sometimes late.
        clock.now += plan.rendition(.vp8).interval * Int.random(in: 12...20, using: &random) / 16
        if Int.random(in: 0..<100, using: &random) == 0 {
            clock.now += .nanoseconds(Int.random(in: 0...3_000_000_000, using: &random))
        }
    }

    private mutating func publish(_ writer: inout FrameWriter) throws {
        let drawn = desktop.takeDrawn()
        if drawn.isEmpty { return }
        let size = desktop.size
        let info = FrameInfo(
            width: size.width,
            height: size.height,
            capturedAt: clock.now,
            source: SourceRectangle(x: 0, y: 0, width: size.width, height: size.height)
        )
        try writer.publish(info) { planes in
            var parts = [PixelRect(size)]
            if planes.followsAnother {
                parts.removeAll()
                drawn.forEachRectangle { columns, rows in
                    for row in rows { planes.drawOnly(columns: columns, row: row) }
                    parts.append(drawn.pixels(columns: columns, rows: rows))
                }
            }
            desktop.picture.copy(parts, to: &planes)
        }
        tally.published += 1
    }

    /// Shows another part of the screen, also one that reaches beyond it, as after a change of its size.
    private mutating func changeViewport(_ reader: inout FrameReader) {
        func edges(_ length: Int, _ random: inout SplitMix) -> Range<Int> {
            let first = Int.random(in: 0..<length / 2, using: &random) * 2
            return first..<first + 2 * Int.random(in: 1...length, using: &random)
        }
        let size = desktop.size
        picture.viewport =
            random.next() & 1 == 0
            ? nil : PixelRect(columns: edges(size.width, &random), rows: edges(size.height, &random))
        reader.forget()
    }

    /// What the picture must be: a part of the screen, cut out sample by sample, and scaled.
    private func naivePicture() -> NV12Picture {
        let whole = PixelRect(desktop.size)
        let part = picture.viewport.flatMap { whole.intersection($0) } ?? whole
        var cut = NV12Picture(size: part.size)
        let (from, to) = (desktop.picture.layout, cut.layout)
        desktop.picture.withPlanes { luma, chroma in
            cut.withMutablePlanes { cutLuma, cutChroma in
                for y in 0..<part.height {
                    for x in 0..<part.width {
                        let (there, here) = (from.lumaOffset(x: part.x + x, y: part.y + y), to.lumaOffset(x: x, y: y))
                        cutLuma.storeBytes(
                            of: luma.unsafeLoad(fromByteOffset: there, as: UInt8.self),
                            toByteOffset: here,
                            as: UInt8.self
                        )
                        if y % 2 == 1 { continue }
                        let pair = from.chromaOffset(x: part.x, y: part.y + y) + x
                        cutChroma.storeBytes(
                            of: chroma.unsafeLoad(fromByteOffset: pair, as: UInt8.self),
                            toByteOffset: to.chromaOffset(x: 0, y: y) + x,
                            as: UInt8.self
                        )
                    }
                }
            }
        }
        var scaled = NV12Picture(size: plan.size)
        cut.withPlanes { luma, chroma in
            Rescaler(from: part.size, to: plan.size).rescale(luma: luma, chroma: chroma, layout: to, into: &scaled)
        }
        if let tone = picture.tone { brighten(&scaled, tone) }
        return scaled
    }

    private func brighten(_ picture: inout NV12Picture, _ tone: Tone) {
        func change(_ plane: inout MutableRawSpan, _ body: (Int) -> Int) {
            for offset in 0..<plane.byteCount {
                let value = plane.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
                plane.storeBytes(of: UInt8(body(Int(value))), toByteOffset: offset, as: UInt8.self)
            }
        }
        picture.withMutablePlanes { luma, chroma in
            change(&luma) { naiveLuma($0, tone.scale) }
            change(&chroma) { naiveChroma($0, tone.scale) }
        }
    }

    private mutating func readPicture(_ reader: inout FrameReader) throws {
        guard case .frame(let info) = try reader.read({ picture.draft($0, at: clock.now) }) else { return }
        changed.removeAll()
        let scroll = picture.commit(info, changed: &changed)
        if changed.isEmpty, capturedAt != nil { return }
        capturedAt = info.capturedAt
        if scroll != nil { tally.scrolls += 1 }
        for stream in streams { stream.noteNewPicture(changed, scroll) }
        isResting.removeAll()
    }

    /// Takes up a stream, or leaves one, by the episode's plan.
    private mutating func followCodecs(_ reader: inout FrameReader) throws {
        guard let codec = plan.codecs.randomElement(using: &random) else { return }
        if let index = streams.firstIndex(where: { $0.rendition.codec == codec }) {
            if plan.codecs.count == 1 { return }
            streams.remove(at: index)
            isResting.remove(codec)
            if let receiver = call.receivers.removeValue(forKey: codec) { try check(receiver.compareDecoders()) }
            if !streams.isEmpty { return }
            capturedAt = nil
            reader.forget()
            picture.forget()
            return try followCodecs(&reader)
        }
        let recording = plan.isRecorded ? try Recording(codec, size: plan.size) : nil
        call.receivers[codec] = Receiver(codec, recording: recording)
        streams.append(try VideoStream(plan.rendition(codec), plan.settings) { [clock] in clock.now })
    }

    private mutating func encode(_ stream: VideoStream) throws {
        guard let capturedAt, let receiver = call.receivers[stream.rendition.codec] else { return }
        if !isQuiet {
            if Int.random(in: 0..<150, using: &random) == 0 { stream.noteKeyframeRequest() }
            // The packets before still wait.
            if Int.random(in: 0..<40, using: &random) == 0 { return }
        }
        let action = stream.action(at: clock.now)
        guard action != .nothing else { return }
        call.isForNewcomers = random.next() & 1 == 0
        let count = receiver.frameCount
        var statistics = SenderStatistics()
        let frame = try stream.encode(
            picture.nv12,
            capturedAt: capturedAt,
            action,
            now: clock.now,
            &statistics
        ) { [call] bytes, encoded in
            receiver.receive(bytes, isNewcomer: encoded.isKeyframe && call.isForNewcomers)
        }
        if action == .keepAlive { isResting.insert(stream.rendition.codec) }
        tally.note(frame, stream.rendition.codec)
        guard receiver.frameCount == count + (frame == nil ? 0 : 1) else { throw fault("frames went astray") }
        if count + (frame == nil ? 0 : 1) == 0 { return }
        if receiver.isBroken { throw fault("\(stream.rendition.codec): the decoder refuses a frame") }
        guard stream.copyReference(into: &reference) else {
            // A patch was given up, and then the frame was dropped.
            if frame == nil { return }
            throw fault("\(stream.rendition.codec): no reference")
        }
        if receiver.picture != reference {
            let place = receiver.picture.firstDifference(reference)
            let kind = frame.map { $0.isKeyframe ? "a keyframe" : "a frame at \($0.quantizer)" } ?? "a dropped frame"
            throw fault(
                "\(stream.rendition.codec): \(kind), number \(count), is decoded as something else from \(place) on"
            )
        }
    }

    /// Nothing happens until all streams only say that they live; then the picture is compared with the screen.
    private mutating func rest(_ writer: inout FrameWriter, _ reader: inout FrameReader) throws {
        isQuiet = true
        defer { isQuiet = false }
        for _ in 0..<300 where isResting.count < streams.count {
            try tick(&writer, &reader)
            clock.now = max(clock.now, streams.map(\.repetition).min() ?? clock.now)
        }
        // Each keyframe that nobody asked for is refined anew, and some pictures are never fine.
        if isResting.count < streams.count, plan.settings.keyframeInterval != nil { return }
        tally.rests += 1
        guard naivePicture().isEqual(to: picture.nv12) else { throw fault("the picture is not that of the screen") }
        if tally.rests > 1, random.next() & 7 > 0 { return }
        // Where nothing is patched, libvpx's loop filter blurs text anew with each frame.
        if !plan.settings.allowsPatches { return }
        for stream in streams {
            let plain = try plainEncode(stream.rendition.codec)
            guard stream.copyReference(into: &reference) else { throw fault("\(stream.rendition.codec): no reference") }
            let found = reference.distance(to: picture.nv12)
            let wanted = plain.distance(to: picture.nv12)
            tally.note(stream.rendition.codec, decibels: found.y, plain: wanted.y)
            for (plane, found, wanted) in [
                ("Y", found.y, wanted.y), ("U", found.u, wanted.u), ("V", found.v, wanted.v),
            ] {
                // A plain encode of other colours than those of the picture is no measure.
                if found < stream.rendition.codec.leastAtRest(plain: wanted) || wanted < 25 {
                    throw fault(
                        "\(stream.rendition.codec): \(plane) has \(found) dB at rest, plainly encoded \(wanted)"
                    )
                }
            }
            if stream.rendition.codec != .av1, found.worst > max(4 * wanted.worst, 65) {
                throw fault(
                    "\(stream.rendition.codec): a macroblock is off by \(found.worst), plainly encoded \(wanted.worst)"
                )
            }
        }
    }

    /// What an encoder makes of the picture that knows nothing but that.
    private func plainEncode(_ codec: VideoCodec) throws -> PlanarPicture {
        var configuration = VideoEncoderConfiguration(codec: codec, size: plan.size, targetBitrate: plan.bitrate)
        configuration.vp8Profile = plan.settings.vp8Profile
        configuration.allowsPatches = false
        var encoder = try VideoEncoder(configuration)
        var plain = PlanarPicture()
        for step in 0..<60 {
            let time = Instant(nanoseconds: 0) + plan.rendition(.vp8).interval * (step + 1)
            let quantizer = try encoder.encode(picture.nv12, presentationTime: time) { frame, _ in frame.quantizer }
            if let quantizer, step > 8, quantizer <= codec.convergedQuantizer + 1 { break }
        }
        guard encoder.copyReference(into: &plain) else { throw fault("\(codec): no plain encode") }
        return plain
    }

    private func check(_ problem: String?) throws {
        if let problem { throw fault(problem) }
    }

    private func fault(_ text: String) -> Fault { Fault(text: text, plan: plan) }
}

extension VideoCodec {
    /// The decibels of a picture at rest, given those of a plain encode. Above 47 nobody sees a difference. VP9 and AV1 take
    /// a picture for fine by its quantizer, and libaom codes nothing more where the screen did not change.
    fileprivate func leastAtRest(plain: Double) -> Double {
        switch self {
        case .vp8: min(plain, 47) - 3
        case .vp9: min(plain, 42) - 3
        case .av1: min(plain, 33)
        }
    }
}

/// The time of an episode.
private final class Clock {
    var now: Instant

    init(now: Instant) { self.now = now }
}
