package import FrameBridge
import Media
import Pixels
package import Posix
package import VideoEncoding

/// The sender's loop: polls the bridge, rescales, encodes in each codec that is asked for, and gives frames to a call.
package struct SenderLoop: ~Copyable {
    /// How the loop ended.
    package enum End: Equatable { case interrupted, broadcastStopped }

    /// No encoding while the packets of earlier frames need longer than this to leave: the newest picture then goes
    /// out next, instead of an old one.
    private static let longestBacklog: UInt64 = 100_000_000
    /// The longest sleep while nothing happens, after which to see whether the capture process gets to run.
    private static let livenessInterval: UInt64 = 1_000_000_000
    /// The same where nothing tells of its death.
    private static let unwatchedInterval: UInt64 = 350_000_000
    /// For so long after the call rang, it is asked for what it needs at the frame rate: it may grant it only then.
    private static let attentionTime: UInt64 = 1_000_000_000

    private let settings: SenderSettings
    private let call: any VideoCall
    private let report: (String) -> Void
    private let interval: UInt64
    private var reader: FrameReader
    private var streams: [VideoStream] = []
    private var picture: ScaledPicture
    private var preference: CodecPreference
    private var preferred = VideoCodec.vp8
    /// For use while a frame is read only.
    private var changed: BlockSet
    /// When the picture was captured; nil while there is none.
    private var capturedAt: UInt64?
    private var nextTick: UInt64 = 0
    /// After a try that came to nothing: when to try again.
    private var retryAt: UInt64 = 0
    private var rings: UInt32 = 0
    private var attentiveUntil: UInt64 = 0
    private var livenessInterval = Self.livenessInterval
    private var livenessAt: UInt64 = 0
    private var liveness: Liveness?
    private var problem: BridgeError?
    private var statistics = SenderStatistics()

    package init(
        _ settings: SenderSettings,
        reader: consuming FrameReader,
        call: any VideoCall,
        report: @escaping (String) -> Void
    ) {
        interval = settings.interval
        picture = ScaledPicture(size: settings.size)
        preference = CodecPreference(interval: settings.interval)
        changed = BlockSet(settings.size, side: BlockSet.macroblock)
        self.settings = settings
        self.reader = reader
        self.call = call
        self.report = report
    }

    /// Runs until a signal comes or the broadcast says `stopped`.
    ///
    /// - Parameter eachSecond: gets the statistics about once a second.
    package mutating func run(
        until signals: borrowing TerminationSignals,
        eachSecond: (SenderStatistics) -> Void
    ) throws(VideoEncoderError) -> End {
        var reportAt = MonotonicClock.now() + 1_000_000_000
        let watch = reader.watchWriter(orWhenReadable: signals.descriptor.raw, ringing: call.bell)
        if watch == nil { livenessInterval = Self.unwatchedInterval }
        defer { withExtendedLifetime(watch) {} }
        while !signals.take() {
            listen()
            try followCodecs()
            if streams.isEmpty {
                // Whoever comes next must not see what was there when the last one left.
                capturedAt = nil
                reader.forget()
                picture.forget()
            } else {
                readPicture()
            }
            // What is not to be shown any more is not encoded any more either.
            if let capturedAt, capturedAt < reader.horizon.instant { self.capturedAt = nil }
            let now = MonotonicClock.now()
            for stream in streams { try encode(stream, at: now) }
            tellPreference()
            if broadcastStopped(at: now) { return .broadcastStopped }
            if now >= reportAt {
                eachSecond(statistics)
                reportAt = max(reportAt + 1_000_000_000, now)
            }
            wait(from: now)
        }
        return .interrupted
    }

    /// Notes whether the bell rang since the last time: for the call, for the capture process, or for a signal.
    private mutating func listen() {
        let count = call.bell.count
        guard count != rings else { return }
        rings = count
        attentiveUntil = MonotonicClock.now() + Self.attentionTime
        livenessAt = 0
    }

    /// Sleeps until the next tick, or in waking mode until there is something to do.
    private mutating func wait(from now: UInt64) {
        guard settings.wakesEarly else {
            nextTick = max(nextTick + interval, now)
            return MonotonicClock.sleep(until: nextTick)
        }
        let longest = now + (now < attentiveUntil ? interval : livenessInterval)
        if streams.isEmpty { return call.bell.wait(while: rings, until: longest) }
        let repetition = capturedAt == nil ? .max : streams.reduce(.max) { min($0, $1.repetition) }
        let earliest = streams.reduce(.max) { min($0, $1.earliest) }
        MonotonicClock.sleep(until: max(min(earliest, repetition), retryAt))
        if repetition <= earliest { return }
        reader.wait(until: min(longest, repetition), or: call.bell, while: rings)
    }

    private mutating func readPicture() {
        let start = MonotonicClock.threadTime()
        defer { statistics.scaleTime += MonotonicClock.threadTime() - start }
        do {
            switch try takeFrame() {
            case .frame(let info):
                changed.removeAll()
                let scroll = picture.commit(info, changed: &changed)
                statistics.framesRead += 1
                statistics.bytesScaled += UInt64(picture.bytesDrafted)
                if changed.isEmpty, capturedAt != nil { break }
                // A damaged bridge names any instant.
                let instant = min(info.capturedAt, MonotonicClock.now())
                capturedAt = instant
                for stream in streams { stream.noteNewPicture(changed, scroll) }
                let count = changed.count - (scroll?.blocks.count ?? 0)
                preference.noteChange(Double(count) / Double(changed.columns * changed.rows), at: instant)
            case .contended: retryAt = MonotonicClock.now() + interval / 8
            case .unchanged, .noFrame: break
            }
            problem = nil
        } catch {
            if problem != error { report("\(error)") }
            problem = error
        }
    }

    /// Drafts the picture of the latest frame, if it is new.
    private mutating func takeFrame() throws(BridgeError) -> FrameReader.Outcome {
        try reader.read { frame in picture.draft(frame) }
    }

    /// Keeps an encoder for each codec that somebody receives, and none else.
    private mutating func followCodecs() throws(VideoEncoderError) {
        let codecs = call.codecs
        streams.removeAll { !codecs.contains($0.codec) }
        for codec in codecs where !streams.contains(where: { $0.codec == codec }) {
            streams.append(try VideoStream(settings, codec: codec))
        }
    }

    private mutating func tellPreference() {
        guard preference.codec != preferred else { return }
        preferred = preference.codec
        call.prefer(preferred)
    }

    private mutating func encode(_ stream: VideoStream, at now: UInt64) throws(VideoEncoderError) {
        guard let capturedAt else { return }
        if call.takeKeyframeRequest(stream.codec) { stream.noteKeyframeRequest() }
        let action = stream.action(at: now)
        guard action != .nothing else { return }
        let backlog = call.backlog
        guard backlog <= Self.longestBacklog else {
            statistics.ticksSkipped += 1
            retryAt = now + min(interval, backlog - Self.longestBacklog)
            return
        }
        let (begin, sentBefore) = (MonotonicClock.threadTime(), statistics.sendTime)
        let frame = try stream.encode(
            picture.nv12,
            capturedAt: capturedAt,
            action,
            now: now,
            to: call,
            &statistics
        )
        let cost = MonotonicClock.threadTime() - begin - (statistics.sendTime - sentBefore)
        statistics.encodeTime += cost
        if let frame, action != .keepAlive {
            preference.noteFrame(frame, by: stream.codec, cost: cost, at: now)
        }
    }

    /// Looks at times whether the capture process is well, and tells when that changes.
    private mutating func broadcastStopped(at now: UInt64) -> Bool {
        guard now >= livenessAt, let found = try? reader.liveness() else { return false }
        livenessAt = now + livenessInterval
        defer { liveness = found }
        guard found != liveness else { return false }
        call.noteLiveness(found)
        switch (liveness, found) {
        case (_, .stopped): return true
        case (_, .dead): report("the capture process died; the last picture stays until it is started again")
        case (_, .stalled): report("the capture process does not get to run; the last picture stays")
        case (_, .live(.sourceLost)): report("the screen is gone; the last picture stays until it is back")
        case (_, .live(.paused)): report("the broadcast is paused")
        case (_, .live(.error)): report("the capture process cannot write new pictures; the last picture stays")
        case (.dead?, .live), (.stalled?, .live), (.live(.sourceLost)?, .live), (.live(.paused)?, .live),
            (.live(.error)?, .live):
            report("the broadcast goes on")
        default: break
        }
        return false
    }
}
