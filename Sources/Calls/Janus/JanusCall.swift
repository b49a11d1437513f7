import HTTP
import Media
import NIOHTTP1
import Peers
import RTP
import Synchronization
import Time

/// Publishes the screen into a VideoRoom of Janus.
///
/// The session runs on the web client's thread, the peer on the network thread of the peers. Close the call, then both.
package final class JanusCall: Call {
    private struct State {
        /// Signals of earlier peers are ignored.
        var peer: PeerConnection?
        /// The WebSocket, and its number among those so far. Events of earlier ones are ignored.
        var socket: WebSocket?
        var socketNumber = 0
        var isLost = false
        var hasToldEnd = false
    }

    private let address: JanusAddress
    private let secrets: @Sendable () -> JanusSecrets
    private let host: CallHost
    private let web: WebClient
    private let peers: PeerGroup
    private let driver: EngineDriver<JanusSession>
    private let state = Mutex(State())

    /// Begins to publish.
    ///
    /// - Parameters:
    ///   - secrets: the current ones; called for each connection, on the web client's thread, which it may hold up for a second.
    ///   - host: gets the reports on the web client's thread. All its codecs are offered, and the room takes one.
    init(to address: JanusAddress, _ secrets: @escaping @Sendable () -> JanusSecrets, in host: CallHost) throws {
        let (web, peers) = (try host.network.client(), try host.network.peers())
        (self.address, self.secrets, self.host, self.web, self.peers) = (address, secrets, host, web, peers)
        let session = JanusSession(
            server: address.server,
            room: address.room,
            JanusSecrets(),
            codecs: Array(host.media.codecs.joined())
        )
        driver = EngineDriver(session) { web.schedule(in: $0, $1) }
        web.perform { [self] in change { session, _ in session.start() } }
    }

    package var saysGoodbye: Bool { true }

    package func close() {
        web.perform { [self] in change { session, now in session.leave(now: now) } }
    }

    package func networkChanged() {
        web.perform { [weak self] in self?.change { session, _ in session.networkChanged() } }
    }

    package func slept(for time: Duration) {
        web.perform { [weak self] in self?.change { session, now in session.slept(for: time, now: now) } }
    }

    private func change(_ body: (inout JanusSession, Instant) -> Void) {
        driver.change(for: self, body) { call, output, _ in call.perform(output) }
    }

    private func perform(_ output: JanusSession.Output) {
        switch output {
        case .openSocket: openSocket()
        case .closeSocket:
            state.withLock { state in
                defer { (state.socket, state.socketNumber) = (nil, state.socketNumber + 1) }
                return state.socket
            }?.close()
        case .send(let text): state.withLock(\.socket)?.send(.text(Array(text.utf8)))
        case .offer:
            let server = PeerConnection.Other(place: address.server, audience: .forwarded)
            let peer = PeerConnection(peers, server, in: host) { [weak self, web] signal, peer in
                web.perform { [weak self] in self?.take(signal, of: peer) }
            }
            state.withLock { $0.peer = peer }
            peer.offer()
        case .closePeer: state.withLock { $0.peer.take() }?.close()
        case .accept(let sdp): state.withLock(\.peer)?.accept(sdp)
        case .addCandidate(let line): state.withLock(\.peer)?.add(candidate: line)
        case .propose: state.withLock(\.peer)?.propose()
        case .acceptProposal(let sdp): state.withLock(\.peer)?.acceptProposal(sdp)
        case .abandonProposal: state.withLock(\.peer)?.abandonProposal()
        case .retrying(let why):
            // Told once for each loss.
            let isNews = state.withLock { !exchange(&$0.isLost, with: true) }
            if isNews { host.tell(.away(why: why, isNews: true), "\(why); trying again") }
        case .resumed:
            state.withLock { $0.isLost = false }
            host.tell(.standing(nil), "the server is there again, and the picture went on")
        case .ended(let end):
            let isNews = state.withLock { !exchange(&$0.hasToldEnd, with: true) }
            if isNews { host.report(.ended(end)) }
        }
    }

    // MARK: - The WebSocket

    private func openSocket() {
        let number = state.withLock { state in
            state.socketNumber += 1
            return state.socketNumber
        }
        @Sendable func change(_ body: (inout JanusSession, Instant) -> Void) {
            if state.withLock({ $0.socketNumber == number }) { self.change(body) }
        }
        let server = address.server
        web.openSocket(
            address.endpoint.target,
            of: address.endpoint.origin,
            ["Sec-WebSocket-Protocol": "janus-protocol"],
            owner: WebSocketOwner(
                opened: { [self] socket in
                    let isWanted = state.withLock { state in
                        guard state.socketNumber == number else { return false }
                        state.socket = socket
                        return true
                    }
                    guard isWanted else { return socket.close() }
                    let secrets = self.secrets()
                    change { session, now in
                        session.renew(secrets)
                        session.opened(now: now)
                    }
                },
                received: { message in
                    guard case .text(let text) = message else { return }
                    change { session, now in session.received(text, now: now) }
                },
                closed: {
                    change { session, now in session.lost("the connection to \(server) is lost", now: now) }
                }
            )
        ) { result in
            change { session, now in
                switch result {
                case .success(let status):
                    session.lost(
                        "\(server) answers with status \(status), as no WebSocket of Janus does: check the address",
                        now: now
                    )
                case .failure(let error): session.lost(error.sentence(naming: server), error.kindOfEnd, now: now)
                }
            }
        }
    }

    // MARK: - The peer

    private func take(_ signal: PeerConnection.Signal, of peer: PeerConnection) {
        guard state.withLock({ $0.peer === peer }) else { return }
        switch signal {
        case .described(let sdp): change { session, now in session.described(sdp, now: now) }
        case .answered, .found, .gathered: break
        case .proposed(let fragment): change { session, now in session.proposed(fragment, now: now) }
        case .migrating: change { session, _ in session.migrating() }
        case .connected(let codec):
            state.withLock { $0.isLost = false }
            if let codec { host.tell(.standing(codec), "the room gets the picture, \(codec.rawValue)") }
            change { session, _ in session.connected() }
        case .ended(let why, _, let isFinal):
            state.withLock { $0.peer = nil }
            change { session, now in session.peerEnded(why, isFinal: isFinal, now: now) }
        }
    }
}

extension WebClientError {
    /// A certificate does not become better by itself, so the call ends for good.
    fileprivate var kindOfEnd: CallEnd.Kind {
        switch self {
        case .untrusted, .trust: .failed
        default: .unavailable
        }
    }
}
