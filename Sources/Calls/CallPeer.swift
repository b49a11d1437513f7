import Access
import ICE
import Media
import Peers
import RTP
import Synchronization
import Time
import WebRTC

/// The peer of a call that others run (room, WHIP, Janus), from the first session description to the end. Any thread may call it; the
/// work is done on the network thread of the peers, in order.
final class CallPeer: PeerDelegate {
    /// What becomes of the peer, told on the network thread.
    enum Signal: Sendable {
        /// This side's offer, or its answer, for the other side.
        case described(sdp: String)
        /// Further candidates of this side, which the description did not have.
        case gathered(fragment: String)
        /// This side's credentials and candidates for an ICE restart; nil if ICE cannot restart.
        case proposed(fragment: String?)
        /// This machine no longer has the address at which the path begins. The other side may go on sending there until ICE restarts.
        case migrating
        /// The path stands. The codec is that of the picture that the other side gets; nil if it gets none.
        case connected(codec: VideoCodec?)
        /// The peer has ended, or could not be made. This is the last signal; after `close` it does not come. `why` is the rest of a
        /// sentence about the other side; `isFinal` says that another attempt would fail in the same way.
        case ended(why: String, EndReason, isFinal: Bool)
    }

    /// What is known and wanted of the other side from the beginning.
    struct Other: Sendable {
        /// Where it is, for people.
        var place: String
        /// What it says of itself.
        var name = ""
        /// By what it is recognized later; nil for nothing.
        var guest: GuestKey?
        /// Who sees and hears what it gets.
        var audience = Audience.one
        /// Of STUN and TURN, for an offer, beside those of all peers.
        var servers: [ICEServer] = []
        /// Whether its voice is wanted, for which an offer has the sound in any case.
        var takesVoice = false
        /// Takes the picture that it sends; nil if that is not wanted.
        var receiver: (any FrameReceiver)?
        /// Sends it away; nil for a server.
        var kick: (@Sendable (CallPeer) -> Void)?
    }

    private enum Stage {
        case none
        case offered(ParticipantID, SessionOffer?)
        case answering(ParticipantID, Negotiation)
        /// The section is the media description that has the transport's parameters.
        case peer(ParticipantID, section: (kind: String, mid: String))
        case over
    }

    private let peers: PeerGroup
    private let host: CallHost
    private let other: Other
    private var receiver: (any FrameReceiver)? { other.receiver }
    private let signalled: @Sendable (Signal, CallPeer) -> Void
    private let stage = Mutex(Stage.none)
    /// Candidates of the other side that were tried: each costs packets to an address that it names.
    private let candidateCount = Atomic(0)
    private static let mostCandidates = 64

    init(
        _ peers: PeerGroup,
        _ other: Other,
        in host: CallHost,
        signalled: @escaping @Sendable (Signal, CallPeer) -> Void
    ) {
        (self.peers, self.other, self.host, self.signalled) = (peers, other, host, signalled)
    }

    /// The peer's; nil if there is no peer.
    var id: ParticipantID? {
        switch stage.withLock(\.self) {
        case .answering(let id, _), .peer(let id, _): id
        case .none, .offered, .over: nil
        }
    }

    func offer() {
        perform { [self] loop in
            let id = loop.offer(
                [.screen(host.media.codecs, receives: receiver != nil)]
                    + (peers.offersSound || other.takesVoice ? [.sound(receives: other.takesVoice)] : []),
                for: other.audience,
                servers: other.servers
            ) {
                [self] offer, description in
                stage.withLock { stage in
                    if case .offered(let id, nil) = stage { stage = .offered(id, offer) }
                }
                signalled(.described(sdp: "\(description)"), self)
            }
            guard let id else {
                return end("cannot be reached from here: no UDP port is free", isFinal: true, in: loop)
            }
            stage.withLock { $0 = .offered(id, nil) }
        }
    }

    /// Answers an offer of the other side.
    func answer(_ sdp: String) {
        perform { [self] loop in
            let negotiation: Negotiation
            do {
                negotiation = try Negotiation(
                    offer: SessionDescription(parsing: sdp),
                    codecs: host.media.codecs,
                    receives: receiver != nil,
                    sound: .sound(receives: other.takesVoice)
                )
            } catch {
                return end("has sent an offer that cannot be answered: \(error)", isFinal: true, in: loop)
            }
            let agreement = negotiation.agreement
            guard let peer = loop.add(agreement, at: other.place, delegate: self) else {
                return end("cannot be reached from here: no UDP port is free", isFinal: true, in: loop)
            }
            stage.withLock { $0 = .answering(peer.id, negotiation) }
            begin(peer, at: loop.now)
            add(agreement.remote.candidates, to: peer)
        }
    }

    /// Takes the other side's answer to the offer.
    func accept(_ sdp: String) {
        perform { [self] loop in
            guard case .offered(let id, let offer?) = stage.withLock(\.self) else { return }
            let agreement: Agreement
            do {
                agreement = try offer.agreement(in: SessionDescription(parsing: sdp))
            } catch {
                return end("has sent an answer that is of no use: \(error)", isFinal: true, in: loop)
            }
            guard let peer = loop.accept(agreement, ofOffer: id, at: other.place, delegate: self) else {
                return end("cannot be reached from here", isFinal: true, in: loop)
            }
            // Of what was offered in one bundle, the first tells the transport.
            let first = offer.streams[0]
            stage.withLock { $0 = .peer(id, section: (first.formats[0].codec.kind, first.mid)) }
            begin(peer, at: loop.now)
            add(agreement.remote.candidates, to: peer)
        }
    }

    /// Tries a candidate of the other side, once it has described itself.
    ///
    /// - Parameter line: `candidate:…`.
    func add(candidate line: String) {
        guard let candidate = Candidate(parsing: String(line.dropFirst(line.hasPrefix("candidate:") ? 10 : 0))) else {
            return
        }
        perform { [self] loop in
            switch stage.withLock(\.self) {
            case .answering(let id, _), .peer(let id, _):
                if let peer = loop.peer(id) { add([candidate], to: peer) }
            case .none, .offered, .over: break
            }
        }
    }

    private func add(_ candidates: [Candidate], to peer: Peer) { peer.addRemote(admitted(candidates)) }

    private func admitted(_ candidates: [Candidate]) -> [Candidate] {
        let usable = candidates.filter { ICEAgent.canTry($0) }
        let before = candidateCount.load(ordering: .relaxed)
        let admitted = usable.prefix(max(0, Self.mostCandidates - before))
        candidateCount.store(before + admitted.count, ordering: .relaxed)
        return Array(admitted)
    }

    // MARK: - Other ways

    /// Uses servers that the other side names. What they give is signalled as `gathered`.
    func add(_ servers: [ICEServer]) {
        perform { [self] loop in
            guard case .peer(let id, _) = stage.withLock(\.self) else { return }
            loop.peer(id)?.add(servers, at: loop.now)
        }
    }

    /// Prepares another generation of ICE, which is signalled as `proposed`.
    func propose() {
        perform { [self] loop in
            guard case .peer(let id, _) = stage.withLock(\.self), let peer = loop.peer(id) else { return }
            if !loop.propose(to: peer) { signalled(.proposed(fragment: nil), self) }
        }
    }

    /// Takes the other side's answer to what was proposed. If that makes no sense, the peer ends: the other side has another
    /// generation.
    func acceptProposal(_ fragment: String) {
        change { [self] peer, section, loop in
            let fragment = try? TrickleFragment(parsing: fragment, mids: [section.mid])
            candidateCount.store(0, ordering: .relaxed)
            guard let fragment, let credentials = fragment.credentials,
                peer.acceptProposal(credentials, admitted(fragment.candidates), at: loop.now)
            else { return loop.close(peer, .pathLost) }
        }
    }

    /// The other side stays with the generation that there is.
    func abandonProposal() { change { peer, _, _ in peer.abandonProposal() } }

    private func change(_ body: @escaping @Sendable (Peer, (kind: String, mid: String), PeerLoop) -> Void) {
        perform { [self] loop in
            guard case .peer(let id, let section) = stage.withLock(\.self), let peer = loop.peer(id) else {
                return
            }
            body(peer, section, loop)
            loop.follow(peer)
        }
    }

    /// Tells on the network thread when the other side sent feedback last, if it is there; nil if it has sent none.
    func askWhenHeard(_ tell: @escaping @Sendable (Instant?) -> Void) {
        perform { [self] loop in
            guard case .peer(let id, _) = stage.withLock(\.self) else { return }
            if let peer = loop.peer(id) { tell(peer.heardAt) }
        }
    }

    /// Leaves out the next sound: the other side has as much too much in its buffer.
    func skipSound(_ length: Duration) {
        perform { [self] loop in
            guard case .peer(let id, _) = stage.withLock(\.self) else { return }
            loop.peer(id)?.skipSound(length, at: loop.now)
        }
    }

    /// Says goodbye. No signal follows.
    func close() {
        perform { [self] loop in
            let stage = stage.withLock { stage in
                defer { stage = .over }
                return stage
            }
            switch stage {
            case .offered(let id, _): loop.withdrawOffer(id)
            case .answering(let id, _), .peer(let id, _):
                if let peer = loop.peer(id) { loop.close(peer, .closed) }
                receiver?.end()
            case .none, .over: break
            }
        }
    }

    // MARK: - On the network thread

    private func perform(_ body: @escaping @Sendable (PeerLoop) -> Void) {
        _ = peers.perform { [self] loop in
            if case .over = stage.withLock(\.self) { return }
            body(loop)
        }
    }

    private func begin(_ peer: Peer, at now: Instant) {
        let id = peer.id
        receiver?.begin { [peers] in _ = peers.perform { $0.peer(id)?.requestKeyframes() } }
        var participant = Participant(id: id, call: host.name, name: other.name, place: other.place, since: now)
        if let kick = other.kick { participant.kick = { [weak self] in if let self { kick(self) } } }
        host.begin(participant, canSpeak: peer.canSpeak, guest: other.guest)
    }

    func peer(_ id: ParticipantID, sent frame: ReceivedFrame) { receiver?.receive(frame) }

    func peer(_ id: ParticipantID, said packet: ReceivedSound) { host.media.voices?.receive(packet, from: id) }

    func peer(_ id: ParticipantID, signalled signal: Peer.Signal) {
        switch signal {
        case .gathered(let local, let bundle):
            let negotiation: Negotiation
            switch stage.withLock(\.self) {
            case .answering(let id, let offered):
                negotiation = offered
                stage.withLock { $0 = .peer(id, section: offered.transportSection) }
            case .peer(_, let section): return signalled(.gathered(fragment: local.fragment(for: section)), self)
            case .none, .offered, .over: return
            }
            let sessionID = UInt64.random(in: 0...UInt64(Int64.max))
            signalled(
                .described(sdp: "\(negotiation.answer(local: local, bundle: bundle, sessionID: sessionID))"),
                self
            )
        case .proposed(let local):
            guard case .peer(_, let section) = stage.withLock(\.self) else { return }
            signalled(.proposed(fragment: local.fragment(for: section)), self)
        // It is not asked for.
        case .found: break
        case .migrating: signalled(.migrating, self)
        case .connected(let status): signalled(.connected(codec: status.codec), self)
        case .ended(let end, _):
            host.end(id)
            tell(end: "\(end)", EndReason(end), isFinal: false)
        }
    }

    /// Ends without a peer.
    private func end(_ why: String, isFinal: Bool, in loop: PeerLoop) {
        if case .offered(let id, _) = stage.withLock(\.self) { loop.withdrawOffer(id) }
        tell(end: why, .failed, isFinal: isFinal)
    }

    private func tell(end why: String, _ reason: EndReason, isFinal: Bool) {
        let wasOver = stage.withLock { stage in
            defer { stage = .over }
            if case .over = stage { return true }
            return false
        }
        guard !wasOver else { return }
        receiver?.end()
        signalled(.ended(why: why, reason, isFinal: isFinal), self)
    }
}

extension TransportParameters {
    fileprivate func fragment(for section: (kind: String, mid: String)) -> String {
        TrickleFragment(credentials: credentials, candidates: candidates, isLast: true).description(of: section)
    }
}
