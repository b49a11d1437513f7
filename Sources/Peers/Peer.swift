import Control
package import Media
package import RTP
package import Time
package import WebRTC

/// One peer on the network thread: its transport, and its session.
package final class Peer {
    package enum Signal {
        /// This side's description for the peer is ready: the local candidates are known, or enough of them, or the time is up.
        case gathered(TransportParameters, StreamBundle)
        /// This side's description for an ICE restart is ready.
        case proposed(TransportParameters)
        /// Further local candidates, for a peer that trickles, and whether these are all.
        case found(TrickleFragment)
        /// The machine no longer has the address at which the path begins, and another path is sought. The peer may go on sending to that
        /// address until ICE restarts. It comes again when the addresses change again.
        case migrating
        /// The keys of SRTP came into use. The codec is that of the picture that the peer gets; nil if it gets none.
        case connected(VideoCodec?)
        /// The peer has ended. This signal always comes, as the last one.
        case ended(PeerSession.End)
    }

    /// The connection of a peer's streams, from an answer or an offer of this side.
    struct Link {
        /// With this side's description.
        let transport: PeerTransport
        var streams: StreamBundle
        let audience: Audience
    }

    /// The longest time for feedback on the first packets.
    private static let measuringLimit = Duration.seconds(2)

    package let id: ParticipantID
    let delegate: any PeerDelegate
    private let agreement: Agreement
    package let transport: PeerTransport
    private var session: PeerSession
    private var hasPath = false
    private var wantsFirstKeyframe = false
    private var connectedAt: Instant?
    private var isConnected: Bool { connectedAt != nil }
    /// The name of its stream of pictures; nil if it has none.
    private let mid: String?
    /// When the session must be polled.
    private var deadline: Instant? = .start
    private var pictureRate = RecentRate()
    private var soundRate = RecentRate()
    private var lastBacklog = Duration.zero

    /// - Returns: nil if OpenSSL has no memory.
    init?(
        _ id: ParticipantID,
        _ agreement: Agreement,
        over link: Link,
        by factory: inout PeerFactory,
        now: Instant,
        delegate: any PeerDelegate
    ) {
        let session = try? PeerSession(
            agreement.role,
            expecting: agreement.remote.fingerprints,
            streams: link.streams,
            incoming: agreement.incoming(using: &factory.random),
            identity: factory.identity,
            now: now
        )
        guard let session else { return nil }
        self.id = id
        self.delegate = delegate
        self.agreement = agreement
        mid = agreement.video?.mid
        transport = link.transport
        self.session = session
        transport.setRemote(agreement.remote.credentials)
    }

    /// Whether it gets the picture. A peer without it only shows its own, or hears.
    var getsPicture: Bool { agreement.video?.isSent ?? false }
    var getsSound: Bool { agreement.sound?.isSent ?? false }
    private var sendsPicture: Bool { agreement.video?.isReceived ?? false }
    /// Whether it may be heard, if somebody lets it speak.
    package var canSpeak: Bool { agreement.sound?.isReceived ?? false }

    /// This machine was suspended, and the clock stood still meanwhile.
    func slept(for time: Duration, at now: Instant) {
        session.streams.slept(for: time, now: now)
        transport.slept(for: time)
        deadline = .start
    }

    /// When it sent feedback last; nil if it has not.
    package var heardAt: Instant? { session.streams.heardAt }

    // MARK: - Media

    var end: PeerSession.End? { session.end }
    var streams: StreamBundle { session.streams }
    var statistics: StreamStatistics { video?.statistics ?? StreamStatistics() }
    var soundStatistics: StreamStatistics { sound?.statistics ?? StreamStatistics() }

    private var video: OutgoingStream? { mid.flatMap { session.streams[$0] } }
    private var sound: OutgoingStream? { agreement.sound.flatMap { session.streams[$0.mid] } }

    /// Whether something has come, or the time has.
    func mustPoll(at now: Instant) -> Bool { transport.hasEvents || nextDeadline.map { $0 <= now } ?? false }

    /// Handles events, and sends packets that may leave.
    ///
    /// - Returns: whether the peer needs a keyframe, once for each request. It also needs one as soon as there is a path, so that the picture is
    ///   encoded while keys are agreed on.
    func poll(at now: Instant, in batch: inout DatagramBatch) -> Bool {
        for event in transport.takeEvents(at: now) {
            switch event {
            case .connected:
                session.pathFound()
                if !hasPath, getsPicture, let video { wantsFirstKeyframe = !video.history.canBegin(at: now) }
                hasPath = true
            case .moved: session.pathMoved(at: now)
            case .failed: session.pathLost()
            case .datagram(let bytes): bytes.withUnsafeBytes { session.receive($0, now: now) }
            }
        }
        session.poll(at: now, in: &batch) { transport.send($0) }
        for frame in session.takeFrames() { delegate.peer(id, sent: frame) }
        for packet in session.takeSound() { delegate.peer(id, said: packet) }
        let isAsked = mid.map { session.takeKeyframeRequest(of: $0, at: now) } ?? false
        let needsKeyframe = isAsked || wantsFirstKeyframe
        wantsFirstKeyframe = false
        deadline = session.nextDeadline(at: now)
        return needsKeyframe
    }

    /// When the peer must be looked at; nil if only an event changes it.
    var nextDeadline: Instant? { earliest(deadline, transport.deadline) }

    func linkReport(at now: Instant) -> PeerRouter.LinkReport {
        let estimate = isConnected ? session.streams.linkRate : nil
        return PeerRouter.LinkReport(
            isConnected: isConnected,
            estimate: estimate,
            backlog: estimate == nil ? .zero : session.streams.backlog(at: now),
            loss: statistics.lossFraction ?? 0,
            soundLoss: soundStatistics.lossFraction,
            isMeasuring: measuresLink(at: now)
        )
    }

    private func measuresLink(at now: Instant) -> Bool {
        guard let estimator = session.streams.estimator, !estimator.isMeasured else { return false }
        return connectedAt.map { now < $0 + Self.measuringLimit } ?? true
    }

    /// Asks the peer for keyframes, without which its frames cannot be decoded.
    package func requestKeyframes() {
        session.requestKeyframes()
        deadline = .start
    }

    /// The sound that a peer may skip at once, in milliseconds: from one frame to the largest buffer of browsers.
    package static let skippableSound = 20...5000

    /// Leaves out the next sound, as the peer's buffer is so much too long.
    package func skipSound(_ length: Duration, at now: Instant) { session.streams.skipSound(length, at: now) }

    func setPace(_ pace: Pacer.Pace) {
        session.streams.setPace(pace)
        deadline = .start
    }

    /// Drops the packets that the system did not take, as they must not be seen any more.
    func forgetHeld() {
        session.forgetHeld()
        deadline = .start
    }

    /// Goes on with the packets of another rendition, in a codec of the agreement.
    func change(to codec: VideoCodec, from history: PacketHistory, _ pace: Pacer.Pace) {
        guard let parameters = agreement.video?[codec] else { return }
        session.streams.change(to: parameters, from: history)
        setPace(pace)
    }

    /// Whether keys came into use since the last call.
    func takeConnection(at now: Instant) -> Bool {
        guard !isConnected, session.profile != nil else { return false }
        connectedAt = now
        return true
    }

    func close(at now: Instant, _ end: PeerSession.End, in batch: inout DatagramBatch) {
        session.close(at: now, end, in: &batch) { transport.send($0) }
    }

    // MARK: - Status

    /// Measures the bitrates since the last call, and the present queue.
    func measure(over elapsed: Duration, at now: Instant) {
        lastBacklog = session.streams.backlog(at: now)
        pictureRate.measure(statistics.bytes, over: elapsed)
        soundRate.measure(soundStatistics.bytes, over: elapsed)
    }

    /// - Parameter rendition: nil for no picture.
    func status(_ rendition: Rendition?) -> PeerStatus {
        PeerStatus(id: id, rendition: rendition, isConnected: isConnected, snapshot: snapshot(rendition))
    }

    private func snapshot(_ rendition: Rendition?) -> PeerSnapshot {
        var snapshot = PeerSnapshot()
        snapshot.media.pictures = rendition == nil ? (sendsPicture ? .received : .none) : sendsPicture ? .both : .sent
        snapshot.media.codec = rendition?.codec.rawValue.lowercased() ?? ""
        snapshot.media.rendition = rendition.map { $0.rung + 1 }
        if getsSound {
            snapshot.media.soundBps = soundRate.bitrate
            snapshot.media.soundLossRatio = soundStatistics.lossFraction
        }
        snapshot.media.srtp = session.profile?.name
        snapshot.media.path = transport.path.map { "\($0.local.kind.rawValue)-\($0.remote.kind.rawValue)" }
        snapshot.link.bitrateBps = pictureRate.bitrate
        snapshot.link.estimateBps = session.streams.linkRate.map { Int($0) }
        snapshot.link.queueMs = milliseconds(lastBacklog)
        snapshot.link.rttMs = session.streams.roundTripTime.map { milliseconds($0) }
        snapshot.link.lossRatio = statistics.lossFraction
        snapshot.link.framesSent = statistics.frames
        snapshot.link.nacks = statistics.nacks
        snapshot.link.plis = statistics.keyframeRequests
        return snapshot
    }
}
