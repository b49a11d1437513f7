import FrameBridge
import Media
import Pixels
import Posix
import Time
import VideoEncoding

/// The work of a rendition's thread: it reads the bridge, rescales, encodes, and gives the frames to the sinks.
final class EncodeLoop {
    /// The longest sleep while nothing happens.
    private static let longestSleep = Duration.seconds(1)

    private let rendition: Rendition
    private let settings: SenderSettings
    private let sinks: Sinks
    private let preference: SharedPreference
    private var scalePolicy: ScalePolicy
    /// Whether the picture has changed since it was encoded.
    private var pictureIsNew = false
    private var reader: FrameReader
    private var picture: ScaledPicture
    /// Used only while a frame is read.
    private var changed: BlockSet
    /// When the picture was captured; nil while there is none.
    private var capturedAt: Instant?
    /// The last tick that the loop waited for, if frames do not wake it.
    private var lastTick: Instant?
    /// When to try again after a failure.
    private var retryAt: Instant?
    private var reading = Encode.Reading.notYet
    private var statistics = SenderStatistics()

    init(
        _ rendition: Rendition,
        _ settings: SenderSettings,
        reader: consuming FrameReader,
        sinks: Sinks,
        preference: SharedPreference
    ) {
        picture = ScaledPicture(size: rendition.size)
        changed = BlockSet(rendition.size, side: BlockSet.macroblock)
        scalePolicy = ScalePolicy(rendition.codec)
        self.rendition = rendition
        self.settings = settings
        self.reader = reader
        self.sinks = sinks
        self.preference = preference
    }

    func run(for encode: Encode) throws(VideoEncoderError) {
        var (stream, scale) = (try VideoStream(rendition, settings), scalePolicy.scale)
        while true {
            // The bell is read first, so that no ring is lost.
            let rings = sinks.bell.count
            if encode.mustStop { return }
            var now: Instant = MonotonicClock.now()
            let demand = sinks.demand(for: rendition.id, at: now)
            scalePolicy.update(keepsSize: demand.keepsSize, at: now)
            if scalePolicy.scale != scale {
                scale = scalePolicy.scale
                stream = try begin(rendition.scaled(to: scale))
            }
            if demand.isWanted { try follow(demand, with: stream, at: now) }
            if let isFullUntil = demand.isFullUntil, now < isFullUntil, demand.isWanted {
                // As soon as there is room again, the newest picture goes out, with all changes since the last one
                // sent.
                statistics.ticksSkipped += 1
                scalePolicy.noteUnseen(at: now)
                retryAt = min(now + rendition.interval, isFullUntil)
            } else {
                readPicture(for: stream)
                // A picture from before the horizon is not encoded any more.
                if let capturedAt, reader.horizon.hides(capturedAt) { self.capturedAt = nil }
                now = MonotonicClock.now()
                if demand.isWanted { try self.encode(stream, demand, at: now, for: encode) }
            }
            if encode.note(statistics, reading) { sinks.bell.ring() }
            wait(from: now, stream, demand, while: rings)
        }
    }

    /// Continues in another size, with a keyframe.
    private func begin(_ scaled: Rendition) throws(VideoEncoderError) -> VideoStream {
        picture = ScaledPicture(size: scaled.size)
        changed = BlockSet(scaled.size, side: BlockSet.macroblock)
        capturedAt = nil
        reader.forget()
        return try VideoStream(scaled, settings)
    }

    /// Follows the demand, also while sinks are full: on a link that has become thin, the next frame is of the suitable
    /// codec.
    private func follow(
        _ demand: Demand,
        with stream: VideoStream,
        at now: Instant
    ) throws(VideoEncoderError) {
        try stream.setBitrate(sinks.bitrate(for: demand))
        stream.setKeyframeInterval(demand.keyframeInterval)
        stream.setLink(demand.linkRate, isMeasuring: demand.measuresLink)
        if preference.update({ $0.noteLink(isThin: stream.isThin, of: rendition.codec, at: now) }) { sinks.bell.ring() }
    }

    private func readPicture(for stream: VideoStream) {
        let start: Duration = MonotonicClock.threadTime()
        defer { statistics.scaleTime += MonotonicClock.threadTime() - start }
        let (viewport, legibility) = (sinks.view.viewport, sinks.view.legibility)
        let now: Instant = MonotonicClock.now()
        let isBrightened = picture.brightensAt.map { now >= $0 } ?? false
        if picture.viewport != viewport || picture.legibility != legibility || isBrightened {
            (picture.viewport, picture.legibility) = (viewport, legibility)
            // The last frame is read again.
            reader.forget()
        }
        do throws(BridgeError) {
            // A draft, as the frame may turn out to be torn.
            let outcome = try reader.read { frame in picture.draft(frame, at: now) }
            switch outcome {
            case .frame(let info):
                changed.removeAll()
                let scroll = picture.commit(info, changed: &changed)
                statistics.bytesScaled += UInt64(picture.bytesDrafted)
                // Pixels that were captured again after the horizon may be shown. The same pixels from before it may
                // not.
                if changed.isEmpty, let capturedAt, !reader.horizon.hides(capturedAt) { break }
                // A damaged bridge may contain any instant.
                let instant = min(info.capturedAt, MonotonicClock.now())
                let isFirst = capturedAt == nil
                capturedAt = instant
                pictureIsNew = true
                stream.noteNewPicture(changed, scroll)
                let count = changed.count - (scroll?.blocks.count ?? 0)
                let share = Double(count) / Double(changed.columns * changed.rows)
                if !isFirst { scalePolicy.noteChange(share, at: MonotonicClock.now()) }
                if preference.update({ $0.noteChange(share, at: instant) }) { sinks.bell.ring() }
            case .contended: retryAt = MonotonicClock.now() + rendition.interval / 8
            case .unchanged, .noFrame: break
            }
            reading = .works
        } catch {
            reading = .fails(error)
        }
    }

    private func encode(
        _ stream: VideoStream,
        _ demand: Demand,
        at now: Instant,
        for encode: Encode
    ) throws(VideoEncoderError) {
        guard let capturedAt else { return }
        if let keyframeAt = demand.keyframeAt, now >= keyframeAt { stream.noteKeyframeRequest() }
        let action = stream.action(at: now)
        guard action != .nothing else { return }
        let (begin, sentBefore): (Duration, Duration) = (MonotonicClock.threadTime(), statistics.sendTime)
        var byteCount = 0
        let result = try stream.encode(picture.nv12, capturedAt: capturedAt, action, now: now, &statistics) {
            [sinks] bytes, frame in
            byteCount = bytes.count
            encode.give { sinks.send(bytes, frame, at: now) }
        }
        let cost = MonotonicClock.threadTime() - begin - (statistics.sendTime - sentBefore)
        statistics.encodeTime += cost
        guard let result, action != .keepAlive else { return }
        // The link sets the pace of refinements. A new picture does not wait for them.
        let isPaced = !pictureIsNew && stream.isThin
        if pictureIsNew {
            scalePolicy.noteFrame(result, byteCount: byteCount, bitrate: sinks.bitrate(for: demand), at: now)
            pictureIsNew = false
        }
        let load = isPaced ? nil : cost
        if preference.update({ $0.noteFrame(result, by: rendition.codec, cost: load, at: now) }) { sinks.bell.ring() }
    }

    /// Sleeps until the next tick, or in waking mode until there is work.
    private func wait(from now: Instant, _ stream: VideoStream, _ demand: Demand, while rings: UInt32) {
        guard settings.wakesEarly else {
            let tick = max(lastTick.map { $0 + rendition.interval } ?? now, now)
            lastTick = tick
            return MonotonicClock.sleep(until: tick)
        }
        var deadline = now + Self.longestSleep
        if demand.isWanted, capturedAt != nil {
            deadline = min(deadline, stream.repetition)
            if let keyframeAt = demand.keyframeAt, keyframeAt > now { deadline = min(deadline, keyframeAt) }
            if let end = scalePolicy.deadline { deadline = min(deadline, end) }
            if let brightensAt = picture.brightensAt, brightensAt > now { deadline = min(deadline, brightensAt) }
        }
        let earliest = stream.earliest
        let pause = min(earliest, deadline)
        MonotonicClock.sleep(until: max(pause, retryAt ?? pause))
        if deadline <= earliest { return }
        reader.wait(until: deadline, or: sinks.bell, while: rings)
    }
}
