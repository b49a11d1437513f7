import Access
import HTTP
import JSON
import Media
import Peers
import Posix
import RTP
import SocketIO
import Synchronization
import Time
import WebRTC

/// Sends the screen to the other member of a one-to-one room.
///
/// The room's side runs on the web client's thread, the peer's on the network thread of the peers. Close the call, then both.
package final class RoomCall: Call {
    private struct State {
        /// The other member's peer. Signals of earlier peers are ignored.
        var peer: PeerConnection?
        /// The peer that was reported as joined, and not as left.
        var participant: ParticipantID?
        var hasJoined = false
        var isLost = false
        var ignored = 0
        /// The number of the other member's knock, while it waits.
        var knock: Int?
        /// How many knocks the other member has made.
        var questions = 0
        /// The key by which the other member is recognized later, if it is let in.
        var key: GuestKey?
        /// When peers were made in the last `openingTime`. Each costs an agent of ICE.
        var opened: [Instant] = []
        var isOver = false
    }

    /// A server of Socket.IO that does not mention the room for so long serves no rooms.
    private static let joinTimeout = Duration.seconds(10)
    private static let leaveTimeout = Duration.seconds(2)
    /// At most `mostOpened` peers are made in `openingTime`.
    private static let (mostOpened, openingTime) = (20, Duration.seconds(10))
    /// The most ignored events in the log, so that the other member cannot fill it.
    private static let mostIgnored = 5

    private let address: RoomAddress
    /// The other member's place, for people.
    private var place: String { "room \(address.room)" }
    private let host: CallHost
    private let web: WebClient
    private let peers: PeerGroup
    private let driver: EngineDriver<RoomSession>
    private let state = Mutex(State())
    private let connection = Mutex<SocketConnection?>(nil)

    /// Begins to join.
    ///
    /// - Parameters:
    ///   - name, note: of this side, for the other member.
    ///   - host: gets the reports on the web client's thread. Its access control may make the other member knock.
    init(_ address: RoomAddress, name: String, note: String, in host: CallHost) throws {
        let (web, peers) = (try host.network.client(), try host.network.peers())
        (self.address, self.host, self.web, self.peers) = (address, host, web, peers)
        var introduction = RoomIntroduction()
        (introduction.name, introduction.note) = (name, note)
        introduction.asks = host.access.asks
        introduction.receives = host.receiver != nil || host.takesVoices
        introduction.fingerprint = peers.fingerprint
        driver = EngineDriver(RoomSession(room: address.room, introduction)) { web.schedule(in: $0, $1) }
        web.perform { [self] in
            let connection = SocketConnection(
                to: address.server,
                path: RoomEvent.path,
                payload: JSONText(object: [("token", JSONText(string: Self.seatToken()))]),
                by: web
            ) { [weak self] output, now in self?.take(output, now) }
            self.connection.withLock { $0 = connection }
        }
    }

    /// A random token by which a server recognizes this member, and frees its old seat, when it joins again.
    private static func seatToken() -> String {
        var random = SystemRandomNumberGenerator()
        return randomName(digits: 32, using: &random)
    }

    package var saysGoodbye: Bool { true }

    /// Leaves the room. The report of its end follows.
    package func close() {
        web.perform { [self] in change { session, _ in session.leave() } }
        // Some servers do not answer that.
        web.schedule(in: Self.leaveTimeout) { [weak self] in self?.end(nil) }
    }

    package func slept(for time: Duration) {
        web.perform { [self] in connection.withLock(\.self)?.slept(for: time) }
    }

    // MARK: - The connection

    private func take(_ output: SocketClient.Output, _ now: Instant) {
        // Events after the goodbye are no news.
        guard state.withLock({ !$0.isOver }) else { return }
        switch output {
        case .transport: break
        case .connected:
            state.withLock { $0.isLost = false }
            change { session, _ in session.connected() }
            web.schedule(in: Self.joinTimeout) { [weak self] in self?.giveUpUnlessJoined() }
        case .received(let packet):
            guard let event = RoomEvent(packet) else { return ignore("an event that is none of a room") }
            if let flaw = flaw(of: event) { return change { session, _ in session.received(uselessOffer: flaw) } }
            if case .joined(let room, _) = event, room == address.room {
                state.withLock { $0.hasJoined = true }
                host.tell(.standing(nil), "in room \(room)")
            }
            change { session, now in session.received(event, now: now) }
        case .disconnected(let reason, let retryAt):
            let sentence = reason.sentence(about: "\(address.server)")
            let (isFirst, hasJoined) = state.withLock { (!exchange(&$0.isLost, with: true), $0.hasJoined) }
            if retryAt == nil || !hasJoined { return end(CallEnd(.unavailable, sentence)) }
            if isFirst { host.tell(.away(why: sentence, isNews: true), "\(sentence); trying again") }
            change { session, now in session.lost(now: now) }
        }
    }

    /// The reason why an offer cannot be answered; nil if it can, and for other events. Nobody is asked about such an offer, and no connected
    /// peer gives way to it.
    private func flaw(of event: RoomEvent) -> String? {
        guard case .message(_, let data) = event, case .offer(let sdp)? = RoomMessage(data) else { return nil }
        do {
            _ = try host.negotiate(SessionDescription(parsing: sdp), receives: host.receiver != nil)
            return nil
        } catch {
            return "an offer that cannot be answered: \(String(quoting: "\(error)"))"
        }
    }

    private func giveUpUnlessJoined() {
        guard state.withLock({ !$0.hasJoined }) else { return }
        end(CallEnd(.unavailable, "\(address.server) does not let anybody into rooms: check the address"))
    }

    // MARK: - The room

    private func change(_ body: (inout RoomSession, Instant) -> Void) {
        driver.change(for: self, body) { call, output, _ in call.perform(output) }
    }

    private func perform(_ output: RoomSession.Output) {
        switch output {
        case .emit(let event): connection.withLock(\.self)?.send(event.packet())
        case .closePeer: closePeer()
        case .offer: openPeer()?.offer()
        case .acceptOffer(let sdp): openPeer()?.answer(sdp)
        case .acceptAnswer(let sdp): state.withLock(\.peer)?.accept(sdp)
        case .addCandidate(let line): state.withLock(\.peer)?.add(candidate: line)
        case .ask(let name, let note, let certificate): ask(name: name, note: note, certificate)
        case .recognize(let certificate):
            let key = GuestKey(rawValue: sha256(of: "\(certificate)"))
            guard host.access.asks, host.access.read({ $0.guest(key) }) != nil else { break }
            state.withLock { $0.key = key }
            change { session, _ in session.recognized() }
        case .askNoMore:
            cancelKnock()
        case .listen: askWhenHeard()
        case .skipSound(let length): state.withLock(\.peer)?.skipSound(length)
        case .waiting:
            host.tell(.remark, "the other member of the room lets people in one by one: waiting for an answer")
        case .pointless:
            host.tell(
                .remark,
                "neither side shows the other's picture, so nothing is sent: start one of them with --render or --talkback"
            )
        case .parted(let reason, let why):
            let id = state.withLock { $0.participant.take() }
            tellLeft(id, why ?? reason.deed, reason)
        case .turnedAway:
            if host.access.atGate({ $0.isToldRefusal(of: "\(address)", now: $1) }) {
                host.tell(
                    .refused(CallReport.Participant(), .busy),
                    "a third member of the room was told that this side is busy"
                )
            }
        case .ignored(let what): ignore(what)
        case .ended(let end): self.end(CallEnd(end, in: address))
        }
    }

    private func ignore(_ what: String) {
        let count = state.withLock { state in
            state.ignored += 1
            return state.ignored
        }
        if count <= Self.mostIgnored { host.tell(.remark, "ignored in the room: \(what)") }
    }

    /// Tells that the other member is gone, or that there is no call with it.
    ///
    /// - Parameters:
    ///   - id: nil if it was never connected.
    ///   - why: the rest of a sentence about it.
    private func tellLeft(_ id: ParticipantID?, _ why: String, _ reason: EndReason) {
        host.tell(.left(CallReport.Participant(id: id), reason), "the other member of the room \(why)")
    }

    private func end(_ end: CallEnd?) {
        let wasOver = state.withLock { exchange(&$0.isOver, with: true) }
        if wasOver { return }
        connection.withLock { $0.take() }?.close()
        closePeer()
        cancelKnock()
        host.report(.ended(end))
    }

    private func cancelKnock() {
        guard let knock = state.withLock({ $0.knock.take() }) else { return }
        host.access.change { engine, _ in _ = engine.answer(knock, .cancelled) }
    }

    // MARK: - The other member

    /// Knocks for the other member, unless it is a guest.
    private func ask(name: String, note: String, _ certificate: Fingerprint?) {
        guard host.access.asks else { return }
        let key = certificate.flatMap { GuestKey(rawValue: sha256(of: "\($0)")) }
        let question = state.withLock { state in
            (state.key, state.knock) = (key, nil)
            state.questions += 1
            return state.questions
        }
        if host.access.read({ $0.guest(key) }) != nil { return change { session, _ in session.answered(.accepted) } }
        let knocker = Knocker(name: name, note: note, key: key, address: place, call: "\(address)")
        let number = host.access.knock(knocker) { [weak self, web] _, answer in
            web.perform { [weak self] in self?.take(answer, to: question) }
        }
        guard let number else { return change { session, _ in session.answered(nil) } }
        state.withLock { $0.knock = number }
    }

    private func take(_ answer: KnockAnswer, to question: Int) {
        let isWanted = state.withLock { state in
            guard state.questions == question, state.knock != nil else { return false }
            state.knock = nil
            return true
        }
        guard isWanted else { return }
        change { session, _ in session.answered(answer) }
    }

    private func askWhenHeard() {
        state.withLock(\.peer)?.askWhenHeard { [weak self, web] instant in
            web.perform { [weak self] in self?.change { session, _ in session.heard(at: instant) } }
        }
    }

    /// Returns nil if the other member asks for too many.
    private func openPeer() -> PeerConnection? {
        let now: Instant = MonotonicClock.now()
        let mayOpen = state.withLock { state in
            state.opened.removeAll { $0 + Self.openingTime <= now }
            state.opened.append(now)
            return state.opened.count <= Self.mostOpened
        }
        guard mayOpen else {
            ignore("more offers than one call needs")
            change { session, now in session.peerRefused(now: now) }
            return nil
        }
        var other = PeerConnection.Other(place: place, guest: state.withLock(\.key))
        (other.takesVoice, other.receiver) = (host.takesVoices, host.receiver)
        other.kick = { [weak self, web] peer, _ in web.perform { [weak self] in self?.kick(peer) } }
        let peer = PeerConnection(peers, other, in: host) { [weak self, web] signal, peer in
            web.perform { [weak self] in self?.take(signal, of: peer) }
        }
        state.withLock { $0.peer = peer }
        return peer
    }

    private func kick(_ peer: PeerConnection) {
        if state.withLock({ $0.peer === peer }) { change { session, _ in session.kick() } }
    }

    private func closePeer() { state.withLock { $0.peer.take() }?.close() }

    private func take(_ signal: PeerConnection.Signal, of peer: PeerConnection) {
        guard state.withLock({ $0.peer === peer }) else { return }
        switch signal {
        case .described(let sdp), .answered(let sdp, _): change { session, _ in session.described(sdp) }
        case .found, .gathered, .proposed, .migrating: break
        case .connected(let codec):
            let id = peer.id
            let former = state.withLock { exchange(&$0.participant, with: id) }
            // The other member has come again after an unnoticed end.
            if let former, former != id { tellLeft(former, EndReason.lost.deed, .lost) }
            // It may only show its own picture.
            let deed = codec.map { "looks in, \($0.rawValue)" } ?? "is there, and does not look in"
            host.tell(.joined(CallReport.Participant(id: id), codec), "the other member of the room \(deed)")
            change { session, _ in session.peerConnected() }
        case .ended(let why, let reason, let isFinal):
            state.withLock { $0.peer = nil }
            change { session, now in session.peerEnded(reason, why, isFinal: isFinal, now: now) }
        }
    }
}
