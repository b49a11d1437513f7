import HTTP
package import Media
import Motion
import NIOHTTP1
import Posix
import Synchronization
package import Time

/// Pushes the screen to a server as segments of CMAF. The encoders' threads add frames; the web client's thread hands segments over.
package final class CMAFCall: Call, MediaSink {
    /// Of a request, but at least twice the length of a segment: a link is fast enough if that goes through in its length.
    private static let leastTimeout = Duration.seconds(20)
    private static let turnTime = Duration.milliseconds(200)

    private struct State {
        var stream: CMAFStream
        var horizon: Instant?
        var soundHorizon: Instant?
    }

    private let endpoint: WebURL
    private let host: CallHost
    /// The current bearer token, asked before each request; nil for none.
    private let token: (@Sendable () -> String?)?
    private let web: WebClient
    private let rendition: Rendition
    private let hasSound: Bool
    private let timeout: Duration
    /// Nil if everything is pushed.
    private let changes: SentMedia.Changes?
    private let waker = Mutex<(@Sendable () -> Void)?>(nil)
    private let state: Mutex<State>

    init(
        to endpoint: WebURL,
        _ settings: PushSettings,
        token: (@Sendable () -> String?)?,
        in host: CallHost
    ) throws {
        let first = host.media.renditions.filter { $0.rung == 0 }
        guard let rendition = first.first(where: { $0.codec == .av1 }) ?? first.first(where: { $0.codec == .vp9 })
        else { throw CallEnd(.failed, "segments need AV1 or VP9: leave --codec vp8 out") }
        (self.endpoint, self.host, self.rendition, self.token) = (endpoint, host, rendition, token)
        web = try host.network.client()
        hasSound = host.media.offersSound()
        timeout = max(Self.leastTimeout, .milliseconds(2 * settings.segmentMs))
        changes = settings.clips == nil ? nil : try host.media.watchChanges()
        let now: Instant = MonotonicClock.now()
        let epoch = (Double(MonotonicClock.wallClock()) - Double(now.nanoseconds)) / 1e9
        let stream = CMAFStream(to: endpoint, settings, rendition, hasSound: hasSound, epoch: epoch, at: now)
        state = Mutex(
            State(stream: stream, horizon: host.media.horizon(), soundHorizon: host.media.soundHorizon())
        )
        host.media.addSink(self)
        turn()
    }

    package var saysGoodbye: Bool { true }

    package func close() {
        change { state, now in state.stream.close(at: now) }
        turn()
    }

    package func slept(for time: Duration) { change { state, _ in state.stream.slept(for: time) } }

    // MARK: - The sink

    package func setWaker(_ wake: @escaping @Sendable () -> Void) { waker.withLock { $0 = wake } }

    package func demand(for id: Rendition.ID, at now: Instant) -> Demand {
        guard id == rendition.id else { return .none }
        return state.withLock { state in
            guard state.stream.isRunning else { return .none }
            var demand = Demand(isWanted: true)
            (demand.keepsSize, demand.follows) = (true, true)
            demand.keyframeAt = state.stream.keyframeAt(now)
            return demand
        }
    }

    package func prefer(_ rendition: Rendition) {}

    package func soundDemand(at now: Instant) -> SoundDemand {
        SoundDemand(isWanted: hasSound && state.withLock { $0.stream.isRunning })
    }

    package func send(_ bytes: Span<UInt8>, _ frame: EncodedFrame) {
        guard frame.rendition == rendition.id else { return }
        let content = bytes.withUnsafeBufferPointer { Array($0) }
        let changed = changes?()
        change { state, now in
            guard state.horizon.map({ frame.captureTime >= $0 }) ?? true else { return }
            if let changed { state.stream.take(changed, at: now) }
            state.stream.add(
                content,
                dimensions: frame.dimensions,
                at: frame.capturedAt,
                isKeyframe: frame.isKeyframe
            )
        }
    }

    package func send(sound packet: Span<UInt8>, _ sound: EncodedSound) {
        let content = packet.withUnsafeBufferPointer { Array($0) }
        change { state, _ in state.stream.add(sound: content, at: sound.capturedAt) }
    }

    /// Forgets what may not be shown or heard any more.
    private func forgetHidden(_ state: inout State, at now: Instant) {
        let (horizon, soundHorizon) = (host.media.horizon(), host.media.soundHorizon())
        if horizon != state.horizon { state.stream.pictureIsHidden(at: now) }
        if soundHorizon != state.soundHorizon { state.stream.soundIsHidden() }
        (state.horizon, state.soundHorizon) = (horizon, soundHorizon)
    }

    // MARK: - The server

    /// Looks after deadlines, now and then, until the end.
    private func turn() {
        let isOver = change { state, now in
            state.stream.tick(at: now)
            return state.stream.isOver
        }
        if isOver { return }
        web.schedule(in: Self.turnTime) { [weak self] in self?.turn() }
    }

    @discardableResult
    private func change<Result>(_ body: (inout State, Instant) -> Result) -> Result {
        let now: Instant = MonotonicClock.now()
        let (result, outputs) = state.withLock { state in
            forgetHidden(&state, at: now)
            return (body(&state, now), state.stream.takeOutputs())
        }
        for output in outputs { perform(output) }
        return result
    }

    private func perform(_ output: CMAFStream.Output) {
        switch output {
        case .put(let put, let kind): send(put, of: kind)
        case .stands:
            host.tell(.standing(rendition.codec), "the server takes the picture, \(rendition.codec.rawValue)")
        case .away(let why, let isNews): host.tell(.away(why: why, isNews: isNews), "\(why); trying again")
        case .clipBegan(let number, let cause):
            let why = cause == .motion ? ": something moves" : " by command"
            host.tell(.clipBegan(number, cause), "clip \(number) begins\(why)")
        case .clipEnded(let number, let end):
            host.tell(.clipEnded(number, end), "clip \(number) ends (\(end.rawValue))")
        case .expired: host.tell(.remark, "the time of --expires is over")
        case .ended(let end):
            host.media.removeSink(self)
            host.report(.ended(end))
        }
    }

    private func send(_ put: CMAFUpload.Put, of kind: CMAFStream.Kind) {
        let medium = kind == .picture ? "video/mp4" : "audio/mp4"
        let type = put.item.name.hasSuffix(".mpd") ? "application/dash+xml" : medium
        var headers: HTTPHeaders = ["Content-Type": type, "DASH-IF-Ingest": "1.2"]
        let token = endpoint.origin.shares(secretsWith: put.url.origin) ? token?() : nil
        if let token { headers.add(name: "Authorization", value: "Bearer \(token)") }
        web.send(
            .PUT,
            put.url.target,
            of: put.url.origin,
            headers,
            body: put.item.bytes,
            timeout: timeout
        ) { [weak self] result in
            self?.change { state, now in
                switch result {
                case .success(let response):
                    let answer = CMAFUpload.Answer(
                        status: response.status,
                        retryAfter: response.retryAfter,
                        location: response.headers.first(name: "location")
                    )
                    state.stream.answered(answer, of: kind, at: now)
                case .failure(let error): state.stream.failed("\(error)", of: kind, at: now)
                }
            }
        }
    }
}
