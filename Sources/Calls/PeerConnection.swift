import Access
import ICE
import Media
import Peers
import RTP
import Synchronization
import Time
import WebRTC

/// The peer at the other end of a call, from the first session description to the end. Any thread may call it. The work is done on the
/// network thread of the peers, in order.
final class PeerConnection: PeerDelegate {
    private enum Stage {
        case none
        case offered(ParticipantID, SessionOffer?)
        /// The section is the media description with the transport. The negotiation is nil once its answer is made.
        case peer(ParticipantID, section: (kind: String, mid: String), Negotiation?)
        case over
    }

    /// The most candidates of the other side that are tried in a generation of ICE. Each costs packets to an address that it names. Its own
    /// checks show others.
    private static let mostCandidates = TrickleFragment.mostCandidates

    let other: Other
    private let peers: PeerGroup
    private let host: CallHost
    private let signalled: @Sendable (Signal, PeerConnection) -> Void
    private let stage = Mutex(Stage.none)
    private let endReason = Mutex<EndReason?>(nil)
    private let candidateCount = Atomic(0)

    init(
        _ peers: PeerGroup,
        _ other: Other,
        in host: CallHost,
        signalled: @escaping @Sendable (Signal, PeerConnection) -> Void
    ) {
        (self.peers, self.other, self.host, self.signalled) = (peers, other, host, signalled)
    }

    /// Nil if there is no peer.
    var id: ParticipantID? {
        if case .peer(let id, _, _) = stage.withLock(\.self) { id } else { nil }
    }

    /// This side's reason to end it; nil for none.
    var reason: EndReason? { endReason.withLock(\.self) }

    func offer() {
        perform { [self] loop in
            let id = loop.offer(
                [.screen(host.media.codecs, receives: other.receiver != nil)]
                    + (host.media.offersSound() || other.takesVoice ? [.sound(receives: other.takesVoice)] : []),
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

    func answer(_ sdp: String) {
        perform { [self] loop in
            let negotiation: Negotiation
            do {
                negotiation = try host.negotiate(SessionDescription(parsing: sdp), receives: other.receiver != nil)
            } catch {
                return end("has sent an offer that cannot be answered: \(error)", isFinal: true, in: loop)
            }
            if answer(negotiation, in: loop) == nil {
                end("cannot be reached from here: no UDP port is free", isFinal: true, in: loop)
            }
        }
    }

    /// Answers an offer after its negotiation.
    ///
    /// - Returns: nil, and nothing is signalled, if no UDP port is free, or the machine has no address.
    func answer(_ negotiation: Negotiation, in loop: PeerLoop) -> Participant? {
        let (agreement, section) = (negotiation.agreement, negotiation.transportSection)
        let peer = loop.add(agreement, at: other.place, trickles: other.trickles, delegate: self)
        return peer.map { begin($0, .peer($0.id, section: section, negotiation), agreement, at: loop.now) }
    }

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
            // In one bundle, the first stream has the transport.
            let first = offer.streams[0]
            let section = (first.formats[0].codec.kind, first.mid)
            _ = begin(peer, .peer(id, section: section, nil), agreement, at: loop.now)
        }
    }

    private func begin(_ peer: Peer, _ begun: Stage, _ agreement: Agreement, at now: Instant) -> Participant {
        let id = peer.id
        stage.withLock { $0 = begun }
        other.receiver?.begin { [peers] in _ = peers.perform { $0.peer(id)?.requestKeyframes() } }
        var participant = Participant(id: id, call: host.name, name: other.name, place: other.place, since: now)
        if let kick = other.kick { participant.kick = { [weak self] reason in if let self { kick(self, reason) } } }
        host.begin(participant, canSpeak: peer.canSpeak, guest: other.guest, by: other.link)
        add(agreement.remote.candidates, to: peer)
        return participant
    }

    /// Tries a candidate of the other side, once it has described itself.
    ///
    /// - Parameter line: `candidate:…`.
    func add(candidate line: String) {
        guard let candidate = Candidate(parsing: String(line.dropFirst(line.hasPrefix("candidate:") ? 10 : 0))) else {
            return
        }
        change { [self] peer, _ in add([candidate], to: peer) }
    }

    func add(_ candidates: [Candidate], to peer: Peer) { peer.transport.addRemote(admitted(candidates)) }

    private func admitted(_ candidates: [Candidate]) -> [Candidate] {
        let before = candidateCount.load(ordering: .relaxed)
        guard before < Self.mostCandidates else { return [] }
        let usable = candidates.filter { ICEAgent.canTry($0) }
        let most = min(usable.count, Self.mostCandidates - before)
        let count = other.admit?(most) ?? most
        candidateCount.store(before + count, ordering: .relaxed)
        return Array(usable.prefix(count))
    }

    // MARK: - Other ways

    /// Uses servers that the other side names. Their candidates are signalled as `gathered`.
    func add(_ servers: [ICEServer]) { change { peer, loop in peer.transport.add(servers, at: loop.now) } }

    /// Prepares another generation of ICE, which is signalled as `proposed`.
    func propose() {
        change { [self] peer, loop in if !loop.propose(to: peer) { signalled(.proposed(fragment: nil), self) } }
    }

    /// Takes the other side's answer to the restart. If it makes no sense, the peer ends, as the other side has another generation.
    func acceptProposal(_ fragment: String) {
        change { [self] peer, loop in
            guard case .peer(_, let section, _) = stage.withLock(\.self) else { return }
            let fragment = try? TrickleFragment(parsing: fragment, mids: [section.mid])
            candidateCount.store(0, ordering: .relaxed)
            guard let fragment, let credentials = fragment.credentials,
                peer.transport.acceptProposal(credentials, admitted(fragment.candidates), at: loop.now)
            else { return loop.close(peer, .pathLost) }
            loop.follow(peer)
        }
    }

    /// The other side stays with the present generation.
    func abandonProposal() {
        change { peer, loop in
            peer.transport.abandonProposal()
            loop.follow(peer)
        }
    }

    /// Calls back on the network thread with the time of the last feedback, unless there is no peer; nil if it has sent none.
    func askWhenHeard(_ tell: @escaping @Sendable (Instant?) -> Void) { change { peer, _ in tell(peer.heardAt) } }

    /// Leaves out the next sound, as the buffer of the other side is so much too long.
    func skipSound(_ length: Duration) { change { peer, loop in peer.skipSound(length, at: loop.now) } }

    // MARK: - Ending

    /// Says goodbye. No signal follows.
    func close() {
        perform { [self] loop in
            let stage = stage.withLock { exchange(&$0, with: .over) }
            switch stage {
            case .offered(let id, _): loop.withdrawOffer(id)
            case .peer(let id, _, _):
                if let peer = loop.peer(id) { loop.close(peer, .closed) }
                other.receiver?.end()
            case .none, .over: break
            }
        }
    }

    /// Says goodbye for a reason. `ended` has that reason.
    func close(as reason: EndReason) {
        endReason.withLock { $0 = $0 ?? reason }
        change { peer, loop in loop.close(peer, .closed) }
    }

    /// Does the same in this round.
    func close(as reason: EndReason, in loop: PeerLoop) {
        endReason.withLock { $0 = $0 ?? reason }
        if let peer = peer(in: loop) { loop.close(peer, .closed) }
    }

    // MARK: - On the network thread

    /// Nil if there is no peer, or it has ended.
    func peer(in loop: PeerLoop) -> Peer? { id.flatMap { loop.peer($0) } }

    private func change(_ body: @escaping @Sendable (Peer, PeerLoop) -> Void) {
        perform { [self] loop in if let peer = peer(in: loop) { body(peer, loop) } }
    }

    private func perform(_ body: @escaping @Sendable (PeerLoop) -> Void) {
        _ = peers.perform { [self] loop in
            if case .over = stage.withLock(\.self) { return }
            body(loop)
        }
    }

    func peer(_ id: ParticipantID, sent frame: ReceivedFrame) { other.receiver?.receive(frame) }

    func peer(_ id: ParticipantID, said packet: ReceivedSound) { host.media.voices?.receive(packet, from: id) }

    func peer(_ id: ParticipantID, signalled signal: Peer.Signal) {
        if case .ended(let end) = signal {
            host.end(id)
            let reason = reason ?? EndReason(end)
            let why =
                switch reason {
                case .kicked: "was sent away"
                case .leaseExpired: "has asked for no more time"
                case .revoked: "came by a link that is over"
                default: "\(end)"
                }
            return tell(end: why, reason, isFinal: false)
        }
        guard case .peer(_, let section, let negotiation) = stage.withLock(\.self) else { return }
        switch signal {
        case .gathered(let local, let bundle):
            guard let negotiation else { return signalled(.gathered(fragment: local.fragment(for: section)), self) }
            stage.withLock { $0 = .peer(id, section: section, nil) }
            let sessionID = UInt64.random(in: 0...UInt64(Int64.max))
            let answer = negotiation.answer(local: local, bundle: bundle, sessionID: sessionID)
            signalled(.answered(sdp: "\(answer)", local), self)
        case .proposed(let local): signalled(.proposed(fragment: local.fragment(for: section)), self)
        case .found(let fragment): signalled(.found(fragment), self)
        case .migrating: signalled(.migrating, self)
        case .connected(let codec): signalled(.connected(codec: codec), self)
        case .ended: break
        }
    }

    /// Ends without a peer.
    private func end(_ why: String, isFinal: Bool, in loop: PeerLoop) {
        if case .offered(let id, _) = stage.withLock(\.self) { loop.withdrawOffer(id) }
        tell(end: why, .failed, isFinal: isFinal)
    }

    private func tell(end why: String, _ reason: EndReason, isFinal: Bool) {
        if case .over = stage.withLock({ exchange(&$0, with: .over) }) { return }
        other.receiver?.end()
        signalled(.ended(why: why, reason, isFinal: isFinal), self)
    }
}

extension CallHost {
    /// Agrees with an offer of the other side.
    ///
    /// - Parameters:
    ///   - receives: whether this side takes the picture of the other one.
    ///   - rights: of the other side, as far as they are about sound.
    func negotiate(
        _ offer: SessionDescription,
        receives: Bool = false,
        rights: Rights = [.hear, .talk]
    ) throws(UnacceptableOffer) -> Negotiation {
        let sound = LocalStream.sound(
            sends: rights.contains(.hear),
            receives: takesVoices && rights.contains(.talk)
        )
        return try Negotiation(offer: offer, codecs: media.codecs, receives: receives, sound: sound)
    }
}

extension TransportParameters {
    fileprivate func fragment(for section: (kind: String, mid: String)) -> String {
        TrickleFragment(credentials: credentials, candidates: candidates, isLast: true).description(of: section)
    }
}
