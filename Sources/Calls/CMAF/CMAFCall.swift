import Containers
import HTTP
package import Media
import NIOHTTP1
import Posix
import Synchronization
package import Time

/// Pushes the screen to a server as segments of CMAF. The encoders' threads add frames; the web client's thread hands segments over.
package final class CMAFCall: Call, MediaSink {
    /// A track on its way.
    private struct Lane {
        var segmenter: CMAFSegmenter
        var transfer: CMAFUpload
        /// Whether the server takes it.
        var stands = false

        mutating func add(_ sample: [UInt8], at instant: Instant, isKeyframe: Bool) {
            upload(segmenter.add(sample, at: instant, isKeyframe: isKeyframe))
        }

        mutating func tick(at now: Instant) {
            upload(segmenter.tick(at: now))
            transfer.tick(at: now)
        }

        mutating func end(at now: Instant) { upload(segmenter.end(at: now)) }

        private mutating func upload(_ segment: CMAFSegment?) {
            guard let segment, !segment.samples.isEmpty else { return }
            let name = "\(segment.track.name)/\(segment.number).m4s"
            transfer.add(CMAFUpload.Item(name: name, bytes: segment.bytes))
        }

        mutating func slept(for time: Duration) {
            forget()
            segmenter.epoch += time / .seconds(1)
        }

        mutating func forget() {
            segmenter.forget()
            transfer.forget()
        }
    }

    private struct State {
        /// Nil before the first keyframe.
        var picture: Lane?
        var sound: Lane?
        var silence = SilenceFiller()
        /// When the sound begins.
        var start = Instant.start
        var horizon: Instant?
        var soundHorizon: Instant?
        /// Until when the last segments may be on their way; nil before `close`.
        var closesAt: Instant?
        var hasEnded = false
        /// Whether the server takes all tracks.
        var stands = false
        /// The last problem that was told.
        var problem: String?
    }

    private static let timeout = Duration.seconds(20)
    private static let turnTime = Duration.milliseconds(200)
    private static let farewellTime = Duration.seconds(2)

    private let endpoint: WebURL
    private let host: CallHost
    private let web: WebClient
    private let rendition: Rendition
    private let hasSound: Bool
    private let epoch: Double
    private let waker = Mutex<(@Sendable () -> Void)?>(nil)
    private let state = Mutex(State())

    init(to endpoint: WebURL, in host: CallHost) throws {
        let first = host.media.renditions.filter { $0.rung == 0 }
        guard let rendition = first.first(where: { $0.codec == .av1 }) ?? first.first(where: { $0.codec == .vp9 })
        else { throw CallEnd(.failed, "segments need AV1 or VP9: leave --codec vp8 out") }
        (self.endpoint, self.host, self.rendition) = (endpoint, host, rendition)
        web = try host.network.client()
        hasSound = host.media.offersSound()
        let now: Instant = MonotonicClock.now()
        epoch = (Double(MonotonicClock.wallClock()) - Double(now.nanoseconds)) / 1e9
        host.media.addSink(self)
        turn()
    }

    package var saysGoodbye: Bool { true }

    package func close() {
        change { state, now in
            guard state.closesAt == nil else { return }
            forgetHidden(&state)
            state.closesAt = now + Self.farewellTime
            state.picture?.end(at: now)
            state.sound?.end(at: now)
        }
        host.media.removeSink(self)
        turn()
    }

    package func slept(for time: Duration) {
        change { state, _ in
            state.picture?.slept(for: time)
            state.sound?.slept(for: time)
        }
    }

    // MARK: - The sink

    package func setWaker(_ wake: @escaping @Sendable () -> Void) { waker.withLock { $0 = wake } }

    package func demand(for id: Rendition.ID, at now: Instant) -> Demand {
        guard id == rendition.id else { return .none }
        return state.withLock { state in
            guard state.closesAt == nil, !state.hasEnded else { return .none }
            var demand = Demand(isWanted: true)
            demand.keepsSize = true
            demand.keyframeAt = state.picture.map { $0.segmenter.keyframeAt ?? now } ?? now
            return demand
        }
    }

    package func prefer(_ rendition: Rendition) {}

    package func soundDemand(at now: Instant) -> SoundDemand {
        SoundDemand(isWanted: hasSound && state.withLock { $0.closesAt == nil && !$0.hasEnded })
    }

    package func send(_ bytes: Span<UInt8>, _ frame: EncodedFrame) {
        guard frame.rendition == rendition.id else { return }
        let content = bytes.withUnsafeBufferPointer { Array($0) }
        change { state, _ in
            forgetHidden(&state)
            guard state.closesAt == nil, state.horizon.map({ frame.captureTime >= $0 }) ?? true else { return }
            if state.picture == nil, frame.isKeyframe { begin(content, frame, &state) }
            let sample = rendition.codec == .av1 ? Array(OpenBitstreamUnit.withoutDelimiter(content[...])) : content
            state.picture?.add(sample, at: frame.capturedAt, isKeyframe: frame.isKeyframe)
        }
    }

    package func send(sound packet: Span<UInt8>, _ sound: EncodedSound) {
        let content = packet.withUnsafeBufferPointer { Array($0) }
        change { state, _ in
            forgetHidden(&state)
            guard state.sound != nil, state.closesAt == nil, sound.capturedAt >= state.start else { return }
            let time = sound.capturedAt - state.start
            fillSilence(&state, until: time, takesShort: true)
            if let time = state.silence.admit(at: time) { add(content, at: time, &state) }
        }
    }

    /// Forgets what may not be shown or heard any more.
    private func forgetHidden(_ state: inout State) {
        let (horizon, soundHorizon) = (host.media.horizon(), host.media.soundHorizon())
        if horizon != state.horizon { state.picture?.forget() }
        if soundHorizon != state.soundHorizon { state.sound?.forget() }
        (state.horizon, state.soundHorizon) = (horizon, soundHorizon)
    }

    /// The tracks are known.
    private func begin(_ keyframe: [UInt8], _ frame: EncodedFrame, _ state: inout State) {
        let (width, height) = frame.dimensions
        let track: CMAFTrack
        switch rendition.codec {
        case .av1:
            guard let configuration = AV1Configuration(keyframe: keyframe) else { return }
            track = .av1(configuration, width: width, height: height)
        case .vp8, .vp9: track = .vp9(width: width, height: height)
        }
        let tracks = [track] + (hasSound ? [.opus(channels: 2)] : [])
        let length = Int(CMAFCall.length / .milliseconds(1))
        let manifest = CMAFManifest(tracks: tracks, length: length, bitrate: rendition.bitrate)
        let item = CMAFUpload.Item(name: "manifest.mpd", bytes: Array(manifest.text.utf8))
        state.picture = lane(track, after: [item])
        if hasSound { state.sound = lane(.opus(channels: 2), after: []) }
        state.start = frame.capturedAt
    }

    private func lane(_ track: CMAFTrack, after headers: [CMAFUpload.Item]) -> Lane {
        let header = CMAFUpload.Item(name: "\(track.name)/init.mp4", bytes: track.header)
        return Lane(
            segmenter: CMAFSegmenter(track, length: Self.length, epoch: epoch),
            transfer: CMAFUpload(headers + [header])
        )
    }

    private func fillSilence(_ state: inout State, until time: Duration, takesShort: Bool) {
        for (packet, time) in state.silence.fill(until: time, takesShort: takesShort) { add(packet, at: time, &state) }
    }

    private func add(_ packet: [UInt8], at time: Duration, _ state: inout State) {
        state.sound?.add(packet, at: state.start + time, isKeyframe: true)
    }

    // MARK: - The server

    /// Looks after deadlines, now and then, until the end.
    private func turn() {
        let isOver = change { state, now in
            forgetHidden(&state)
            if let closesAt = state.closesAt {
                let isDone = [state.picture, state.sound].allSatisfy { $0?.transfer.isDone ?? true }
                return isDone || now >= closesAt
            }
            if state.sound != nil {
                fillSilence(&state, until: now - SilenceFiller.patience - state.start, takesShort: false)
            }
            state.picture?.tick(at: now)
            state.sound?.transfer.tick(at: now)
            return state.hasEnded
        }
        if isOver { return tellEnd(nil) }
        web.schedule(in: Self.turnTime) { [weak self] in self?.turn() }
    }

    @discardableResult
    private func change<Result>(_ body: (inout State, Instant) -> Result) -> Result {
        let now: Instant = MonotonicClock.now()
        let (result, outputs) = state.withLock { state in
            let result = body(&state, now)
            let picture = (state.picture?.transfer.takeOutputs() ?? []).map { (true, $0) }
            return (result, picture + (state.sound?.transfer.takeOutputs() ?? []).map { (false, $0) })
        }
        for (isPicture, output) in outputs { perform(output, ofPicture: isPicture) }
        return result
    }

    private func perform(_ output: CMAFUpload.Output, ofPicture isPicture: Bool) {
        switch output {
        case .put(let item): put(item, ofPicture: isPicture)
        case .standing:
            let isNews = state.withLock { state in
                if isPicture { state.picture?.stands = true } else { state.sound?.stands = true }
                let stood = state.stands
                state.stands = [state.picture, state.sound].allSatisfy { $0?.stands ?? true }
                if state.stands { state.problem = nil }
                return state.stands && !stood
            }
            if isNews {
                host.tell(.standing(rendition.codec), "the server takes the picture, \(rendition.codec.rawValue)")
            }
        case .away(let why):
            let (isNews, stood) = state.withLock { state in
                if isPicture { state.picture?.stands = false } else { state.sound?.stands = false }
                defer { (state.stands, state.problem) = (false, why) }
                return (state.problem == nil, state.stands)
            }
            if isNews { host.tell(.away(why: why, isNews: stood), "\(why); trying again") }
        case .ended(let end):
            host.media.removeSink(self)
            tellEnd(end)
        }
    }

    private func put(_ item: CMAFUpload.Item, ofPicture isPicture: Bool) {
        let type = item.name.hasSuffix(".mpd") ? "application/dash+xml" : isPicture ? "video/mp4" : "audio/mp4"
        web.send(
            .PUT,
            endpoint.target + item.name,
            of: endpoint.origin,
            ["Content-Type": type, "DASH-IF-Ingest": "1.2"],
            body: item.bytes,
            timeout: Self.timeout
        ) { [weak self] result in
            guard let self else { return }
            change { state, now in
                func take(_ upload: inout CMAFUpload) {
                    switch result {
                    case .success(let response):
                        let (status, wish) = (response.status, response.retryAfter)
                        upload.answered(status, retryAfter: wish, server: "\(self.endpoint.origin)", at: now)
                    case .failure(let error): upload.failed("\(error)", at: now)
                    }
                }
                if isPicture { take(&state.picture!.transfer) } else { take(&state.sound!.transfer) }
            }
        }
    }

    private func tellEnd(_ end: CallEnd?) {
        let isFirst = state.withLock { state in
            defer { state.hasEnded = true }
            return !state.hasEnded
        }
        if isFirst { host.report(.ended(end)) }
    }
}
