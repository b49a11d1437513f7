import Media
import Posix
import RTP
import Time
import WebRTC

/// One viewer on the network thread: its ICE agent, its session, and what came of the one for the other.
final class Viewer {
    /// How long an answer waits for STUN and TURN servers.
    private static let gatheringLimit: UInt64 = 2_000_000_000

    /// Between two requests for a keyframe to change the codec with.
    private static let changeInterval: UInt64 = 1_000_000_000

    /// What the agent says is kept until the loop takes it: no event may change a session that is just sending.
    private final class Mailbox {
        enum Item {
            case connected, failed
            case datagram([UInt8])
        }

        /// Who sends more between two looks is not a viewer.
        static let limit = 1024

        var items: [Item] = []
        var hasGathered = false
    }

    let id: String
    let number: Int
    let address: String
    let since: UInt64
    let negotiation: Negotiation
    /// Tells whoever waits for the answer; nil once it is told.
    private var completion: ((Result<Admission, Refusal>) -> Void)?
    private let agent: ICEAgent
    private var session: PeerSession
    private let identity: DTLSIdentity
    private let answerNumber: UInt64
    private let mailbox = Mailbox()
    private let limits: ViewerLimits
    /// Those of the viewer that are tried, or were.
    private var candidateCount = 0
    /// The viewer's of the current generation.
    private var remoteCredentials: ICECredentials
    private var bytesBefore: UInt64 = 0
    private var lastBitrate = 0
    private var hasPath = false
    private var wantsFirstKeyframe = false
    private(set) var isConnected = false
    /// What the viewer gets.
    private(set) var format: Negotiation.Format
    private var changeAskedAt: UInt64 = 0

    init(
        id: String,
        number: Int,
        address: String,
        negotiation: Negotiation,
        format: Negotiation.Format,
        streams: StreamBundle,
        identity: DTLSIdentity,
        loop: ICELoop,
        ice: ICEAgent.Configuration,
        limits: ViewerLimits,
        now: UInt64,
        completion: @escaping (Result<Admission, Refusal>) -> Void
    ) throws(Refusal) {
        let mailbox = mailbox
        let agent = ICEAgent(in: loop, ice, isControlling: negotiation.remote.isLite) { event in
            switch event {
            case .gathered: mailbox.hasGathered = true
            case .connected: mailbox.items.append(.connected)
            case .failed: mailbox.items.append(.failed)
            case .datagram(let bytes):
                if mailbox.items.count < Mailbox.limit { mailbox.items.append(.datagram(Array(bytes))) }
            }
        }
        guard let agent else { throw .noTransport }
        self.agent = agent
        do throws(DTLSError) {
            session = try PeerSession(
                negotiation.role,
                expecting: negotiation.remote.fingerprints,
                streams: streams,
                identity: identity,
                now: Instant(nanoseconds: now)
            )
        } catch {
            throw .noTransport
        }
        self.id = id
        self.number = number
        self.address = address
        self.negotiation = negotiation
        self.format = format
        self.identity = identity
        self.limits = limits
        self.completion = completion
        since = now
        remoteCredentials = negotiation.remote.credentials
        answerNumber = .random(in: 0...UInt64(Int64.max))
        agent.setRemote(negotiation.remote.credentials)
        addRemote(negotiation.remote.candidates, at: now)
    }

    /// The generation of this side's credentials.
    var generation: String { agent.credentials?.fragment ?? "" }

    var end: PeerSession.End? { session.end }
    var statistics: StreamStatistics { video.statistics }

    /// Its only stream.
    private var video: OutgoingStream { session.streams.streams[0] }

    // MARK: - Signalling

    /// Tells the answer, once this side's candidates are known or enough time has passed.
    func answerIfReady(at now: UInt64) {
        guard let completion, mailbox.hasGathered || now >= since + Self.gatheringLimit else { return }
        self.completion = nil
        guard let credentials = agent.credentials else { return completion(.failure(.noTransport)) }
        let local = TransportParameters(
            credentials: credentials,
            fingerprints: [identity.fingerprint],
            candidates: agent.candidates
        )
        let answer = negotiation.answer(local: local, bundle: session.streams, sessionID: answerNumber)
        completion(.success(Admission(id: id, answer: "\(answer)", generation: credentials.fragment)))
    }

    func take(_ fragment: TrickleFragment, _ condition: FragmentCondition, at now: UInt64) -> TrickleOutcome {
        if let credentials = fragment.credentials, credentials != remoteCredentials {
            return switch condition {
            case .any: restart(with: credentials, fragment.candidates, at: now)
            case .generation: .outdated
            case .unsaid: .unconditional
            }
        }
        switch condition {
        case .generation(let generation) where generation != self.generation: return .outdated
        case .unsaid where fragment.credentials == nil: return .unconditional
        case .generation, .unsaid, .any:
            addRemote(fragment.candidates, at: now)
            return .added
        }
    }

    private func restart(
        with credentials: ICECredentials,
        _ candidates: [Candidate],
        at now: UInt64
    ) -> TrickleOutcome {
        guard limits.mayStart(address, now: Instant(nanoseconds: now)) else { return .tooMany }
        remoteCredentials = credentials
        agent.restart()
        agent.setRemote(credentials)
        addRemote(candidates, at: now)
        let answer = TrickleFragment(credentials: agent.credentials, candidates: agent.candidates, isLast: true)
        return .restarted(generation: generation, fragment: answer.description(of: negotiation.transportSection))
    }

    private func addRemote(_ candidates: [Candidate], at now: UInt64) {
        let usable = candidates.filter { ICEAgent.canTry($0) }
        let count = min(usable.count, ViewerLimits.candidatesOfOneViewer - candidateCount)
        let admitted = limits.admit(count, of: address, now: Instant(nanoseconds: now))
        candidateCount += admitted
        agent.addRemote(Array(usable.prefix(admitted)))
    }

    func refuse(_ refusal: Refusal) {
        completion?(.failure(refusal))
        completion = nil
    }

    // MARK: - Media

    /// Takes what came, and sends what may go out.
    func poll(at instant: UInt64, in batch: inout DatagramBatch) {
        let now = Instant(nanoseconds: instant)
        if !mailbox.items.isEmpty {
            let items = mailbox.items
            mailbox.items.removeAll(keepingCapacity: true)
            for item in items {
                switch item {
                case .connected:
                    session.pathFound()
                    if !hasPath { wantsFirstKeyframe = !video.history.canBegin(at: now) }
                    hasPath = true
                case .failed: session.pathLost()
                case .datagram(let bytes): bytes.withUnsafeBytes { session.receive($0, now: now) }
                }
            }
        }
        session.poll(at: now, in: &batch) { send($0) }
    }

    func setPace(_ pace: Pacer.Pace) { session.setPace(pace) }

    /// What waits for the system to take it must not be seen any more.
    func forgetHeld() { session.forgetHeld() }

    /// What the viewer would get if such a codec suited best.
    func format(preferring codec: VideoCodec) -> Negotiation.Format { negotiation.format(preferring: codec) }

    /// Goes on with another codec, if there is a keyframe to begin with.
    ///
    /// - Returns: whether to ask for one: where others receive that codec already, none comes by itself.
    func change(to format: Negotiation.Format, at now: UInt64, _ history: PacketHistory) -> Bool {
        if history.canBegin(at: Instant(nanoseconds: now)) {
            self.format = format
            session.change(to: format, from: history)
            return false
        }
        guard isConnected, now >= changeAskedAt + Self.changeInterval else { return false }
        changeAskedAt = now
        return true
    }

    func nextDeadline(at now: UInt64) -> UInt64? {
        let media = session.nextDeadline(at: Instant(nanoseconds: now))?.nanoseconds
        guard completion != nil else { return media }
        return min(media ?? .max, since + Self.gatheringLimit)
    }

    /// Whether the viewer needs a keyframe that is yet to come. The answer is given once; and once as soon as there is a
    /// path, so that the picture is encoded while keys are agreed on.
    func takeKeyframeRequest(at now: UInt64) -> Bool {
        defer { wantsFirstKeyframe = false }
        return session.takeKeyframeRequest(of: video.mid, at: Instant(nanoseconds: now)) || wantsFirstKeyframe
    }

    /// Whether keys came into use since the last call.
    func takeConnection() -> Bool {
        guard !isConnected, session.profile != nil else { return false }
        isConnected = true
        return true
    }

    /// Past the agent where the path allows it: that takes datagrams one by one.
    private func send(_ batch: borrowing DatagramBatch) -> Int {
        let (bytes, starts, ends) = (batch.bytes, batch.starts, batch.ends)
        return agent.withDirectPath {
            UDPSocket.send(bytes, starts: starts, ends: ends, by: $0, to: $1, size: $2)
        } ?? agent.send(batch)
    }

    func close(at now: UInt64, _ end: PeerSession.End, in batch: inout DatagramBatch) {
        session.close(at: Instant(nanoseconds: now), end, in: &batch) { send($0) }
        refuse(.closed)
    }

    /// - Parameter elapsed: nanoseconds since the last call, over which the bitrate is taken; nil keeps that of before.
    func status(elapsed: UInt64?) -> ViewerStatus {
        let statistics = statistics
        if let elapsed, elapsed > 0 {
            lastBitrate = Int(Double(statistics.bytes - bytesBefore) * 8e9 / Double(elapsed))
            bytesBefore = statistics.bytes
        }
        return ViewerStatus(
            number: number,
            address: address,
            since: since,
            codec: format.videoCodec,
            isConnected: isConnected,
            bitrate: lastBitrate,
            profile: session.profile,
            path: agent.path.map { ($0.local.kind, $0.remote.kind) },
            statistics: statistics,
            roundTripTime: session.streams.roundTripTime.map { UInt64($0.nanoseconds) }
        )
    }
}

extension Negotiation.Format {
    var videoCodec: VideoCodec {
        guard case .video(let codec) = codec else { preconditionFailure("a viewer is offered video alone") }
        return codec
    }
}
