package import HTTP
package import Media
package import Peers
import Posix
import SocketIO
import Synchronization
import Time
import WebRTC

/// Sends the screen to the other member of a one-to-one room.
///
/// The room's side runs on the web client's thread, the peer's on the network thread of the peers. Close the call, then both.
package final class RoomCall: JoinedCall {
    package enum Event: Sendable, CustomStringConvertible {
        /// The server is not there for the moment.
        case lost(reason: String)
        case joined(room: String)
        /// The other member is there, and gets the picture in a codec; nil if it does not want it, and only shows its own.
        case peerCame(codec: VideoCodec?)
        case peerLeft(why: String, EndReason)
        /// What came from the server or the other member does nothing.
        case ignored(String)

        package var description: String {
            switch self {
            case .lost(let reason): "\(reason); trying again"
            case .joined(let room): "in room \(room)"
            case .peerCame(let codec?): "the other member of the room looks in, \(codec.rawValue)"
            case .peerCame(nil): "the other member of the room shows its picture, and does not look in"
            case .peerLeft(let why, _): "the other member of the room \(why)"
            case .ignored(let what): "the room sent what does nothing: \(what)"
            }
        }
    }

    private struct State {
        /// The other member, if it is there: what becomes of an earlier one does not count.
        var peer: CallPeer?
        var hasJoined = false
        var isLost = false
        var ignored = 0
        /// When peers were made, in the last `openingTime`: each costs an agent.
        var opened: [Instant] = []
        var end: (@Sendable (CallEnd?) -> Void)?
    }

    /// The path of Socket.IO, as its servers have it if they are told nothing else.
    private static let path = "/socket.io/"
    /// A server that speaks Socket.IO but says nothing of the room for so long serves no rooms.
    private static let joinTimeout = Duration.seconds(10)
    /// Peers made in so long a time, at the most.
    private static let (mostOpened, openingTime) = (20, Duration.seconds(10))
    /// Senseless events that are told: the log shall not be the other member's to fill.
    private static let mostIgnored = 5

    private let address: RoomAddress
    private let web: WebClient
    private let peers: PeerGroup
    private let codecs: [[VideoCodec]]
    private let receiver: (any FrameReceiver)?
    private let report: @Sendable (Event) -> Void
    private let driver: SessionDriver<RoomSession>
    private let state: Mutex<State>
    private let connection = Mutex<SocketConnection?>(nil)

    /// Begins to join.
    ///
    /// - Parameters:
    ///   - codecs: in groups; of each group, the other member gets the first that it takes.
    ///   - receiver: takes what the other member sends, on the network thread; nil if that is not wanted.
    ///   - report: gets the events, on the web client's thread.
    ///   - ended: called once when the call is over: nil if it was closed.
    package init(
        _ address: RoomAddress,
        codecs: [[VideoCodec]],
        by web: WebClient,
        to peers: PeerGroup,
        receiver: (any FrameReceiver)? = nil,
        report: @escaping @Sendable (Event) -> Void,
        ended: @escaping @Sendable (CallEnd?) -> Void
    ) {
        (self.address, self.codecs, self.web, self.peers, self.report) = (address, codecs, web, peers, report)
        self.receiver = receiver
        driver = SessionDriver(RoomSession(room: address.room), by: web)
        state = Mutex(State(end: ended))
        web.perform { [self] in
            let connection = SocketConnection(
                to: address.server,
                path: Self.path,
                payload: JSONText(object: [("token", JSONText(string: Self.seatToken()))]),
                transports: [.webSocket, .polling],
                by: web
            ) { [weak self] output, now in self?.take(output, now) }
            self.connection.withLock { $0 = connection }
        }
    }

    /// By what a server knows that a seat is this member's own, when it comes again.
    private static func seatToken() -> String {
        String(UInt64.random(in: 0...UInt64.max), radix: 36) + String(UInt64.random(in: 0...UInt64.max), radix: 36)
    }

    /// Leaves the room. `ended` follows.
    package func close() {
        web.perform { [self] in change { session, _ in session.leave() } }
    }

    // MARK: - The connection

    private func take(_ output: SocketClient.Output, _ now: Instant) {
        // What comes of the goodbye is no news.
        guard state.withLock({ $0.end != nil }) else { return }
        switch output {
        case .transport: break
        case .connected:
            state.withLock { $0.isLost = false }
            change { session, _ in session.connected() }
            web.schedule(in: Self.joinTimeout) { [weak self] in self?.giveUpUnlessJoined() }
        case .received(let packet):
            guard let event = RoomEvent(packet) else { return ignore("an event that is none of a room") }
            if case .joined(let room, _) = event, room == address.room {
                state.withLock { $0.hasJoined = true }
                report(.joined(room: room))
            }
            change { session, now in session.received(event, now: now) }
        case .disconnected(let reason, let retryAt):
            let sentence = sentence(for: reason)
            let (isFirst, hasJoined) = state.withLock { state in
                defer { state.isLost = true }
                return (!state.isLost, state.hasJoined)
            }
            if retryAt == nil || !hasJoined { return end(CallEnd(.unavailable, sentence)) }
            if isFirst { report(.lost(reason: sentence)) }
            change { session, now in session.lost(now: now) }
        }
    }

    private func giveUpUnlessJoined() {
        guard state.withLock({ !$0.hasJoined }) else { return }
        end(CallEnd(.unavailable, "\(address.server) does not let anybody into rooms: check the address"))
    }

    private func sentence(for reason: SocketClient.Reason) -> String {
        let server = "\(address.server)"
        return switch reason {
        case .refused(let words): "\(server) does not let this side in: \(words)"
        case .sentAway: "\(server) has ended the connection"
        case .transport(.unreachable(let sentence)): sentence
        case .transport(.refused(let status)):
            "\(server) answers with status \(status), as no server of rooms does: check the address"
        case .transport(.protocolViolated): "\(server) does not speak Socket.IO 5: check the address"
        case .transport(.notOpened), .transport(.silent): "\(server) does not answer"
        case .transport(.connectionLost), .transport(.closedByServer), .transport(.closedByClient):
            "the connection to \(server) is lost"
        }
    }

    // MARK: - The room

    private func change(_ body: (inout RoomSession, Instant) -> Void) {
        let outputs = driver.change(body) { [weak self] in self?.change { session, now in session.tick(now: now) } }
        for output in outputs { perform(output) }
    }

    private func perform(_ output: RoomSession.Output) {
        switch output {
        case .emit(let event): connection.withLock(\.self)?.send(event.packet())
        case .openPeer: break
        case .closePeer: closePeer()
        case .offer: openPeer()?.offer()
        case .acceptOffer(let sdp): openPeer()?.answer(sdp)
        case .acceptAnswer(let sdp): state.withLock(\.peer)?.accept(sdp)
        case .addCandidate(let line, _, _): state.withLock(\.peer)?.add(candidate: line)
        case .ignored(let what): ignore(what)
        case .ended(.left): end(nil)
        case .ended(.full):
            end(CallEnd(.tryAgain, "\(address) is full: choose another room, or try again when somebody has left"))
        case .ended(.sentAway): end(CallEnd(.tryAgain, "the server has ended the call in \(address)", reason: .kicked))
        }
    }

    private func ignore(_ what: String) {
        let count = state.withLock { state in
            state.ignored += 1
            return state.ignored
        }
        if count <= Self.mostIgnored { report(.ignored(what)) }
    }

    private func end(_ end: CallEnd?) {
        guard let tell = state.withLock({ $0.end.take() }) else { return }
        connection.withLock { $0.take() }?.close()
        closePeer()
        tell(end)
    }

    // MARK: - The other member

    /// Nil if the other member asks for too many.
    private func openPeer() -> CallPeer? {
        let now: Instant = MonotonicClock.now()
        let mayOpen = state.withLock { state in
            state.opened.removeAll { $0 + Self.openingTime <= now }
            state.opened.append(now)
            return state.opened.count <= Self.mostOpened
        }
        guard mayOpen else {
            ignore("more offers than one call needs")
            return nil
        }
        let place = "room \(address.room)"
        let peer = CallPeer(peers, codecs: codecs, at: place, receiver: receiver) { [weak self, web] signal, peer in
            web.perform { [weak self] in self?.take(signal, of: peer) }
        }
        state.withLock { $0.peer = peer }
        return peer
    }

    private func closePeer() { state.withLock { $0.peer.take() }?.close() }

    private func take(_ signal: CallPeer.Signal, of peer: CallPeer) {
        guard state.withLock({ $0.peer === peer }) else { return }
        switch signal {
        case .described(let sdp): change { session, _ in session.described(sdp) }
        case .connected(let codec):
            report(.peerCame(codec: codec))
            change { session, _ in session.peerConnected() }
        case .ended(let why, let reason, _):
            state.withLock { $0.peer = nil }
            report(.peerLeft(why: why, reason))
            change { session, now in session.peerEnded(now: now) }
        }
    }
}
