import Media
import Posix
import RTP
import Synchronization
import Time
import WebRTC

/// The network thread's work: all viewers and the histories that they read.
final class ViewerLoop {
    private static let statusInterval: UInt64 = 1_000_000_000
    /// Seconds of packets that can be sent again, at the target bitrate.
    private static let historyLength = 2.0

    private let configuration: WebCall.Configuration
    private let identity: DTLSIdentity
    private let loop: ICELoop
    private let report: (WebCall.Event) -> Void
    private let clock = ClockReading(monotonic: MonotonicClock.now(), wall: MonotonicClock.wallClock())
    private var random = SystemRandomNumberGenerator()
    private var histories: [Rendition.ID: PacketHistory] = [:]
    private var viewers: [Viewer] = []
    private let limits: ViewerLimits
    /// Where all viewers' datagrams are written.
    private var batch = DatagramBatch()
    /// What the encoder's side thinks best.
    private var preferred = VideoCodec.vp8
    /// The encoders' target in bits a second; nil for the renditions' own.
    private var targetBitrate: Int?
    private var departed = WebCallTotals()
    private var lastNumber = 0
    private var statusAt: UInt64 = 0
    private var statusBefore: UInt64 = 0
    /// Who came and went in this round.
    private var events: [WebCall.Event] = []

    init(
        _ configuration: WebCall.Configuration,
        identity: DTLSIdentity,
        loop: ICELoop,
        report: @escaping (WebCall.Event) -> Void
    ) {
        self.configuration = configuration
        self.identity = identity
        self.loop = loop
        self.report = report
        limits = ViewerLimits(viewerLimit: configuration.viewerLimit)
    }

    func run(for call: WebCall) {
        while true {
            let (requests, frames, isClosed, preferred, bitrate) = call.shared.withLock { shared in
                defer {
                    shared.requests.removeAll()
                    shared.frames.removeAll(keepingCapacity: true)
                }
                return (shared.requests, shared.frames, shared.isClosed, shared.preferred, shared.targetBitrate)
            }
            follow(bitrate: bitrate)
            let isPreferenceNew = follow(preferred)
            let now = MonotonicClock.now()
            let countBefore = viewers.count
            var requestedKeyframes: [Rendition.ID] = []
            for request in requests { perform(request, for: call, now: now, &requestedKeyframes) }
            if isClosed { return close(now: now) }
            for (bytes, frame) in frames { append(bytes, frame, now: now) }
            forgetPast(&requestedKeyframes)
            poll(at: now, &requestedKeyframes)
            let changed = removeEnded() || countBefore != viewers.count || isPreferenceNew
            publish(to: call, requestedKeyframes, isDue: changed || !events.isEmpty, now: now)
            for event in events { report(event) }
            events.removeAll()
            loop.run(until: nextDeadline(at: now).map(Instant.init(nanoseconds:)))
        }
    }

    // MARK: - Requests

    private func perform(
        _ request: WebCall.Request,
        for call: WebCall,
        now: UInt64,
        _ requestedKeyframes: inout [Rendition.ID]
    ) {
        switch request {
        case .join(let offer, let address, let completion):
            do throws(Refusal) {
                let viewer = try admit(offer, from: address, now: now, completion: completion)
                // The picture is encoded while the path is sought, unless others pay for it: who never finds one shall
                // not cost them anything.
                let rendition = rendition(of: viewer.format)
                if !viewers.contains(where: { $0.isConnected && self.rendition(of: $0.format) == rendition }) {
                    requestedKeyframes.append(rendition)
                }
                viewers.append(viewer)
            } catch {
                completion(.failure(error))
            }
        case .trickle(let id, let text, let condition, let completion):
            guard let viewer = viewers.first(where: { $0.id == id }) else { return completion(.unknownViewer) }
            do throws(MalformedSDP) {
                let fragment = try TrickleFragment(parsing: text, mids: viewer.negotiation.bundledMids)
                completion(viewer.take(fragment, condition, at: now))
            } catch {
                completion(.malformed(error))
            }
        case .leave(let id, let completion):
            let viewer = viewers.first { $0.id == id }
            viewer?.close(at: now, .closedByPeer, in: &batch)
            completion(viewer != nil)
        case .kick(let number):
            guard let viewer = viewers.first(where: { $0.number == number }) else { return }
            call.noteKicked(viewer.id)
            viewer.close(at: now, .closed, in: &batch)
        }
    }

    private func admit(
        _ offer: String,
        from address: String,
        now: UInt64,
        completion: @escaping (Result<Admission, Refusal>) -> Void
    ) throws(Refusal) -> Viewer {
        let negotiation = try negotiate(offer)
        guard viewers.count < configuration.viewerLimit else { throw .full(limit: configuration.viewerLimit) }
        guard limits.mayStart(address, now: Instant(nanoseconds: now)) else { throw .tooMany }
        let format = negotiation.format(preferring: preferred)
        let rendition = configuration.rendition(of: format.videoCodec)
        let streams = StreamBundle(
            [(format.parameters, history(of: rendition.id))],
            pace: pace(of: format),
            clock: clock,
            using: &random
        )
        lastNumber += 1
        return try Viewer(
            id: randomName(bytes: 16),
            number: lastNumber,
            address: address,
            negotiation: negotiation,
            format: format,
            streams: streams,
            identity: identity,
            loop: loop,
            ice: configuration.ice,
            limits: limits,
            now: now,
            completion: completion
        )
    }

    private func negotiate(_ offer: String) throws(Refusal) -> Negotiation {
        let description: SessionDescription
        do throws(MalformedSDP) { description = try SessionDescription(parsing: offer) } catch {
            throw .malformed(error)
        }
        do throws(UnacceptableOffer) {
            return try Negotiation(offer: description, codecs: configuration.codecs)
        } catch {
            throw .unacceptable(error)
        }
    }

    // MARK: - Media

    private func append(_ bytes: [UInt8], _ frame: EncodedFrame, now: UInt64) {
        history(of: frame.rendition).append(
            frame: bytes,
            isKeyframe: frame.isKeyframe,
            dimensions: frame.dimensions,
            capturedAt: frame.capturedAt,
            takenAt: frame.takenAt,
            now: Instant(nanoseconds: now)
        )
    }

    /// In each round, just before anything is sent. A keyframe that was asked for may be gone with it.
    private func forgetPast(_ requestedKeyframes: inout [Rendition.ID]) {
        guard let horizon = configuration.horizon() else { return }
        var hasForgotten = false
        for history in histories.values where history.forget(takenBefore: horizon) { hasForgotten = true }
        guard hasForgotten else { return }
        for viewer in viewers { viewer.forgetHeld() }
        requestedKeyframes += renditionsInUse
    }

    /// The renditions that viewers get, and those that they wait for.
    private var renditionsInUse: Set<Rendition.ID> {
        Set(viewers.flatMap { [rendition(of: $0.format), rendition(of: $0.format(preferring: preferred))] })
    }

    private func rendition(of format: Negotiation.Format) -> Rendition.ID {
        configuration.rendition(of: format.videoCodec).id
    }

    /// Takes up what the sender prefers. Returns whether that is something else than before.
    private func follow(_ preferred: Rendition.ID?) -> Bool {
        guard let rendition = configuration.renditions.joined().first(where: { $0.id == preferred }),
            rendition.codec != self.preferred
        else { return false }
        self.preferred = rendition.codec
        return true
    }

    /// Takes up another target of the encoders; nil leaves the renditions' own.
    private func follow(bitrate: Int?) {
        guard let bitrate, bitrate != targetBitrate else { return }
        targetBitrate = bitrate
        for viewer in viewers { viewer.setPace(pace(of: viewer.format)) }
    }

    private func pace(of format: Negotiation.Format) -> Pacer.Pace {
        .video(targetBitrate: UInt64(targetBitrate ?? configuration.rendition(of: format.videoCodec).bitrate))
    }

    private func history(of id: Rendition.ID) -> PacketHistory {
        if let history = histories[id] { return history }
        let rendition = configuration.renditions.joined().first { $0.id == id }!
        let packetsPerSecond = Double(rendition.bitrate) / 8 / Double(PeerSession.maximumPayloadSize)
        // The largest keyframe grows with the picture.
        let largestKeyframe = rendition.width * rendition.height / 512
        let history = PacketHistory(
            codec: rendition.codec,
            maximumPayloadSize: PeerSession.maximumPayloadSize,
            capacity: max(largestKeyframe, Int(packetsPerSecond * Self.historyLength)),
            using: &random
        )
        histories[id] = history
        return history
    }

    /// Lets every viewer receive and send, and notes the renditions of which one needs a keyframe.
    private func poll(at now: UInt64, _ requestedKeyframes: inout [Rendition.ID]) {
        for viewer in viewers {
            let wanted = viewer.format(preferring: preferred)
            if wanted != viewer.format {
                let isAsking = viewer.change(to: wanted, at: now, history(of: rendition(of: wanted)))
                if isAsking { requestedKeyframes.append(rendition(of: wanted)) }
            }
            viewer.poll(at: now, in: &batch)
            viewer.answerIfReady(at: now)
            if viewer.takeKeyframeRequest(at: now) { requestedKeyframes.append(rendition(of: viewer.format)) }
            if viewer.takeConnection() {
                events.append(.joined(number: viewer.number, address: viewer.address, codec: viewer.format.videoCodec))
            }
        }
    }

    private func nextDeadline(at now: UInt64) -> UInt64? {
        if viewers.isEmpty { return nil }
        var deadline = statusAt
        for viewer in viewers {
            deadline = min(deadline, viewer.nextDeadline(at: now) ?? .max)
        }
        return deadline
    }

    /// Returns whether there were any.
    private func removeEnded() -> Bool {
        let ended = viewers.filter { $0.end != nil }
        if ended.isEmpty { return false }
        viewers.removeAll { $0.end != nil }
        // Nobody goes on with them, and nobody shall begin with them.
        if viewers.isEmpty { histories.removeAll() }
        for viewer in ended {
            viewer.refuse(.closed)
            departed.add(viewer.statistics)
            if viewer.isConnected, let end = viewer.end {
                events.append(.left(number: viewer.number, address: viewer.address, end))
            }
        }
        return true
    }

    private func close(now: UInt64) {
        for viewer in viewers { viewer.close(at: now, .closed, in: &batch) }
        viewers.removeAll()
        loop.finish(from: Instant(nanoseconds: now))
    }

    // MARK: - What others see

    private func publish(to call: WebCall, _ keyframes: [Rendition.ID], isDue: Bool, now: UInt64) {
        let isTime = now >= statusAt
        var statuses: [ViewerStatus]?
        if isTime || isDue {
            statuses = viewers.map { $0.status(elapsed: isTime ? now - statusBefore : nil) }
        }
        if isTime {
            statusBefore = now
            statusAt = now + Self.statusInterval
        }
        guard statuses != nil || !keyframes.isEmpty else { return }
        var totals = departed
        for status in statuses ?? [] { totals.add(status.statistics) }
        let renditions = renditionsInUse
        let wakeSender = call.shared.withLock { shared in
            for id in keyframes { shared.keyframeRequests[id, default: KeyframeRequests()].request() }
            guard let statuses else { return shared.wakeSender }
            let isNews = !keyframes.isEmpty || shared.renditionsInUse != renditions
            shared.viewers = statuses
            shared.sessions.formIntersection(viewers.map(\.id))
            shared.totals = totals
            shared.renditionsInUse = renditions
            return isNews ? shared.wakeSender : nil
        }
        wakeSender?()
    }

    private func randomName(bytes: Int) -> String {
        (0..<bytes).map { _ in
            let byte = UInt8.random(in: 0 ... .max, using: &random)
            return String(byte >> 4, radix: 16) + String(byte & 0x0F, radix: 16)
        }.joined()
    }
}
