import Containers
import HTTP
import Media
import Motion
import Time

/// The tracks of a broadcast on their way to a server of segments: everything, or clips. Sans-IO.
struct CMAFStream {
    enum Kind { case picture, sound }

    enum Output: Equatable {
        case put(CMAFUpload.Put, Kind)
        /// The server takes all tracks, for the first time or again.
        case stands
        /// It is no news if the stream was away before, for another reason.
        case away(String, isNews: Bool)
        case clipBegan(Int, ClipTrigger.Cause)
        case clipEnded(Int, ClipTrigger.End)
        /// Its lifetime is over.
        case expired
        /// All is over; nil if this side has ended it.
        case ended(CallEnd?)
    }

    /// A track on its way.
    private struct Lane {
        var segmenter: CMAFSegmenter
        var upload: CMAFUpload
        /// Nil if everything goes through.
        var gate: CMAFGate?
        /// Whether the server takes it.
        var stands = false

        mutating func add(_ sample: [UInt8], at instant: Instant, isKeyframe: Bool) {
            take(segmenter.add(sample, at: instant, isKeyframe: isKeyframe))
        }

        /// Fills time in which nothing comes.
        mutating func tick(at now: Instant) {
            take(segmenter.tick(at: now))
            upload.tick(at: now)
        }

        mutating func end(at now: Instant) { take(segmenter.end(at: now)) }

        private mutating func take(_ segment: CMAFSegment?) {
            guard let segment, !segment.samples.isEmpty else { return }
            guard gate != nil else { return push(segment) }
            if let segment = gate!.pass(segment) { push(segment) }
        }

        mutating func beginClip(at instant: Instant) {
            for segment in gate?.begin(at: segmenter.date(of: instant)) ?? [] { push(segment) }
        }

        mutating func endClip(at instant: Instant) { gate?.end(at: segmenter.date(of: instant)) }

        private mutating func push(_ segment: CMAFSegment) {
            let name = "\(segment.track.name)/\(segment.number).m4s"
            upload.add(CMAFUpload.Item(name: name, bytes: segment.bytes))
        }

        mutating func forget() {
            segmenter.forget()
            gate?.forget()
            upload.forget()
        }
    }

    private enum State {
        case running
        /// The last segments are on their way.
        case closing(until: Instant)
        case ended
    }

    /// How much of clips waits while the server is away.
    private static let clipTime = Duration.seconds(180)
    private static let farewellTime = Duration.seconds(2)
    /// At the end of its lifetime, nobody waits.
    private static let expiryTime = Duration.seconds(20)
    /// After a pause, changes do not count for this time.
    private static let resumeTime = Duration.seconds(1)

    private let endpoint: WebURL
    private let settings: PushSettings
    private let rendition: Rendition
    private let hasSound: Bool
    private let expiresAt: Instant?
    /// The date of `Instant.start`, in seconds since 1970, UTC. It moves when the machine sleeps.
    private var epoch: Double
    private var state = State.running
    /// Nil before the first keyframe.
    private var picture: Lane?
    private var sound: Lane?
    private var silence = SilenceFiller()
    /// When the sound begins.
    private var start = Instant.start
    private var clips: ClipWatch?
    private var clipCount = 0
    private var changesCountFrom = Instant.start
    /// Whether the server takes all tracks.
    private var stands = false
    /// The last problem that was told.
    private var problem: String?
    private var outputs: [Output] = []

    init(
        to endpoint: WebURL,
        _ settings: PushSettings,
        _ rendition: Rendition,
        hasSound: Bool,
        epoch: Double,
        at now: Instant
    ) {
        (self.endpoint, self.settings, self.rendition) = (endpoint, settings, rendition)
        (self.hasSound, self.epoch) = (hasSound, epoch)
        expiresAt = settings.lifetimeS.map { now + .seconds($0) }
        clips = settings.clips.map { ClipWatch($0) }
        clips?.learn(from: now)
    }

    mutating func takeOutputs() -> [Output] {
        follow(picture?.upload.takeOutputs() ?? [], of: .picture)
        follow(sound?.upload.takeOutputs() ?? [], of: .sound)
        return exchange(&outputs, with: [])
    }

    /// Whether frames are still wanted.
    var isRunning: Bool { if case .running = state { true } else { false } }

    var isOver: Bool { if case .ended = state { true } else { false } }

    /// When the next keyframe should come.
    func keyframeAt(_ now: Instant) -> Instant { picture?.segmenter.keyframeAt ?? now }

    // MARK: - The sender's side

    /// - Parameter frame: of the rendition.
    mutating func add(
        _ frame: [UInt8],
        dimensions: (width: UInt16, height: UInt16),
        at instant: Instant,
        isKeyframe: Bool
    ) {
        guard isRunning else { return }
        if picture == nil, isKeyframe { begin(frame, dimensions, at: instant) }
        let sample = rendition.codec == .av1 ? Array(OpenBitstreamUnit.withoutDelimiter(frame[...])) : frame
        picture?.add(sample, at: instant, isKeyframe: isKeyframe)
    }

    mutating func add(sound packet: [UInt8], at instant: Instant) {
        guard isRunning, sound != nil, instant >= start else { return }
        let time = instant - start
        fillSilence(until: time, takesShort: true)
        if let time = silence.admit(at: time) { add(packet, at: time) }
    }

    mutating func take(_ change: PictureChange, at now: Instant) {
        guard isRunning else { return }
        switch change {
        case .paused:
            if let events = clips?.stop(.paused, at: now) { follow(events, at: now) }
            beginChanges(at: now)
        case .tiles(let tiles, let instant):
            guard now >= changesCountFrom else { return }
            let instant = min(instant, now)
            let date = epoch + Double(instant.nanoseconds) / 1e9
            if let events = clips?.take(tiles, at: instant, date: date) { follow(events, at: now) }
        }
    }

    /// What was captured before a horizon is in no segment any more.
    mutating func pictureIsHidden(at now: Instant) {
        picture?.forget()
        beginChanges(at: now)
    }

    /// Another picture is no motion.
    private mutating func beginChanges(at now: Instant) {
        changesCountFrom = now + Self.resumeTime
        clips?.forget()
        clips?.learn(from: now)
    }

    mutating func soundIsHidden() { sound?.forget() }

    mutating func slept(for time: Duration) {
        epoch += time / .seconds(1)
        picture?.forget()
        sound?.forget()
        picture?.segmenter.epoch = epoch
        sound?.segmenter.epoch = epoch
    }

    /// Hands over what there is, and ends.
    mutating func close(at now: Instant) { close(at: now, within: Self.farewellTime) }

    private mutating func close(at now: Instant, within time: Duration) {
        guard isRunning else { return }
        if let events = clips?.stop(.ended, at: now) { follow(events, at: now) }
        state = .closing(until: now + time)
        picture?.end(at: now)
        sound?.end(at: now)
    }

    mutating func tick(at now: Instant) {
        switch state {
        case .running:
            if let expiresAt, now >= expiresAt {
                outputs.append(.expired)
                return close(at: now, within: Self.expiryTime)
            }
            if let events = clips?.turn(at: now, countsChanges: true) { follow(events, at: now) }
            if sound != nil { fillSilence(until: now - SilenceFiller.patience - start, takesShort: false) }
            picture?.tick(at: now)
            sound?.upload.tick(at: now)
        case .closing(let until):
            picture?.upload.tick(at: now)
            sound?.upload.tick(at: now)
            let isDone = [picture, sound].allSatisfy { $0?.upload.isDone ?? true }
            if isDone || now >= until { end(nil) }
        case .ended: break
        }
    }

    // MARK: - The server's side

    mutating func answered(_ answer: CMAFUpload.Answer, of kind: Kind, at now: Instant) {
        switch kind {
        case .picture: picture?.upload.answered(answer, at: now)
        case .sound: sound?.upload.answered(answer, at: now)
        }
    }

    mutating func failed(_ why: String, of kind: Kind, at now: Instant) {
        switch kind {
        case .picture: picture?.upload.failed(why, at: now)
        case .sound: sound?.upload.failed(why, at: now)
        }
    }

    private mutating func follow(_ news: [CMAFUpload.Output], of kind: Kind) {
        for output in news {
            switch output {
            case .put(let put): outputs.append(.put(put, kind))
            case .standing: note(stands: true, kind)
            case .away(let why):
                note(stands: false, kind)
                if problem == nil { outputs.append(.away(why, isNews: stands)) }
                (stands, problem) = (false, why)
            case .ended(let failure): end(failure)
            }
        }
    }

    private mutating func note(stands: Bool, _ kind: Kind) {
        switch kind {
        case .picture: picture?.stands = stands
        case .sound: sound?.stands = stands
        }
        guard !self.stands, [picture, sound].allSatisfy({ $0?.stands ?? true }) else { return }
        (self.stands, problem) = (true, nil)
        outputs.append(.stands)
    }

    private mutating func end(_ failure: CallEnd?) {
        if case .ended = state { return }
        state = .ended
        outputs.append(.ended(failure))
    }

    // MARK: - Tracks

    /// The tracks are known.
    private mutating func begin(_ keyframe: [UInt8], _ dimensions: (width: UInt16, height: UInt16), at instant: Instant)
    {
        let (width, height) = dimensions
        let track: CMAFTrack
        switch rendition.codec {
        case .av1:
            guard let configuration = AV1Configuration(keyframe: keyframe) else { return }
            track = .av1(configuration, width: width, height: height)
        case .vp8, .vp9: track = .vp9(width: width, height: height)
        }
        let tracks = [track] + (hasSound ? [.opus(channels: 2)] : [])
        let manifest = CMAFManifest(tracks: tracks, length: settings.segmentMs, bitrate: rendition.bitrate)
        let item = CMAFUpload.Item(name: "manifest.mpd", bytes: Array(manifest.text.utf8))
        picture = lane(track, after: [item])
        if hasSound { sound = lane(.opus(channels: 2), after: []) }
        start = instant
        guard clips?.isRunning ?? false else { return }
        picture?.beginClip(at: instant)
        sound?.beginClip(at: instant)
    }

    private func lane(_ track: CMAFTrack, after headers: [CMAFUpload.Item]) -> Lane {
        let header = CMAFUpload.Item(name: "\(track.name)/init.mp4", bytes: track.header)
        let length = Duration.milliseconds(settings.segmentMs)
        return Lane(
            segmenter: CMAFSegmenter(track, length: length, epoch: epoch),
            upload: CMAFUpload(headers + [header], to: endpoint, keeping: clips == nil ? nil : Self.clipTime / length),
            gate: clips.map { CMAFGate(memory: $0.memoryTime + length) }
        )
    }

    private mutating func fillSilence(until time: Duration, takesShort: Bool) {
        for (packet, time) in silence.fill(until: time, takesShort: takesShort) { add(packet, at: time) }
    }

    private mutating func add(_ packet: [UInt8], at time: Duration) {
        sound?.add(packet, at: start + time, isKeyframe: true)
    }

    // MARK: - Clips

    private mutating func follow(_ events: [ClipTrigger.Event], at now: Instant) {
        for event in events {
            switch event {
            case .began(let cause, let instant):
                let begin = instant - (clips?.preRoll ?? .zero)
                picture?.beginClip(at: begin)
                sound?.beginClip(at: begin)
                clipCount += 1
                outputs.append(.clipBegan(clipCount, cause))
            case .ended(let reason, _):
                // The segment of the end may be on its way already, and the last one has a mark.
                picture?.endClip(at: now)
                sound?.endClip(at: now)
                outputs.append(.clipEnded(clipCount, reason))
            }
        }
    }
}
