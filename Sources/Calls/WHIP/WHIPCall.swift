import HTTP
import ICE
import Media
import NIOHTTP1
import Peers
import Posix
import RTP
import Synchronization
import Time

/// Sends the screen to a media server by WHIP.
///
/// The session runs on the web client's thread, the peer on the network thread of the peers. Close the call, then both.
package final class WHIPCall: Call {
    private struct State {
        /// Signals of earlier peers are ignored.
        var peer: PeerConnection?
        /// Requests that the end waits for, and that end.
        var farewells = 0
        var outcome: CallEnd??
        var hasToldEnd = false
        /// The last reported problem; nil if there is none.
        var problem: String?
        var problemCount = 0
        /// The reported flaws of its answers.
        var flaws: Set<String> = []
        /// The servers that the media server has named last.
        var servers: [ICEServer] = []
        /// The silence after which the server is asked. It doubles each time, until something is heard.
        var patience = WHIPCall.longestSilence
    }

    /// The longest time for an answer. Some servers take seconds to find a place for a session.
    private static let timeout = Duration.seconds(20)
    /// Servers report at least once a second. After this silence, the server is asked whether it still has the session.
    private static let longestSilence = Duration.milliseconds(2200)
    /// The most flaws that are reported, as each may be another one.
    private static let mostFlaws = 8
    /// The most reasons that are reported while the call is lost.
    private static let mostProblems = 8
    private static let watchInterval = Duration.milliseconds(500)

    private let endpoint: WebURL
    private let token: (@Sendable () -> String?)?
    private let host: CallHost
    private let web: WebClient
    private let peers: PeerGroup
    /// Looks up the relays that the server names; nil if only the user's relays are used.
    private let namedServers: NamedServers?
    private let driver: EngineDriver<WHIPSession>
    private let state = Mutex(State())

    /// Begins to publish.
    ///
    /// - Parameters:
    ///   - token: the current bearer token, asked before each request with it; nil for none.
    ///   - host: gets the reports on the web client's thread.
    init(to endpoint: WebURL, token: (@Sendable () -> String?)?, in host: CallHost) throws {
        let web = try host.network.client()
        (self.endpoint, self.token, self.host, self.web) = (endpoint, token, host, web)
        (peers, namedServers) = (try host.network.peers(), try host.network.namedServers())
        driver = EngineDriver(WHIPSession(endpoint, hasToken: token != nil)) { web.schedule(in: $0, $1) }
        web.perform { [self] in change { session, _ in session.start() } }
    }

    package var saysGoodbye: Bool { true }

    package func close() {
        web.perform { [self] in change { session, _ in session.leave() } }
    }

    package func networkChanged() {
        web.perform { [weak self] in self?.change { session, _ in session.networkChanged() } }
    }

    package func slept(for time: Duration) {
        web.perform { [self] in change { session, now in session.slept(for: time, now: now) } }
    }

    private func change(_ body: (inout WHIPSession, Instant) -> Void) {
        driver.change(for: self, body) { call, output, _ in call.perform(output) }
    }

    private func perform(_ output: WHIPSession.Output) {
        switch output {
        case .offer:
            var server = PeerConnection.Other(place: "\(endpoint.origin)")
            (server.audience, server.servers) = (.forwarded, state.withLock(\.servers))
            let peer = PeerConnection(peers, server, in: host) { [weak self, web] signal, peer in
                web.perform { [weak self] in self?.take(signal, of: peer) }
            }
            state.withLock { $0.peer = peer }
            peer.offer()
        case .closePeer: state.withLock { $0.peer.take() }?.close()
        case .accept(let sdp): state.withLock(\.peer)?.accept(sdp)
        case .request(let request):
            send(request) { [weak self] result in
                self?.change { session, now in
                    switch result {
                    case .success(let response): session.answered(response, now: now)
                    case .failure(let error): session.failed(error, now: now)
                    }
                }
            }
        case .change(let request):
            send(request) { [weak self] result in self?.change { session, now in session.changed(result, now: now) } }
        case .use(let servers): use(servers)
        case .unusable(let why):
            let isNews = state.withLock { $0.flaws.count < Self.mostFlaws && $0.flaws.insert(why).inserted }
            if isNews { host.tell(.remark, why) }
        case .propose: state.withLock(\.peer)?.propose()
        case .acceptProposal(let fragment): state.withLock(\.peer)?.acceptProposal(fragment)
        case .abandonProposal: state.withLock(\.peer)?.abandonProposal()
        case .probe(let request):
            let askedAt: Instant = MonotonicClock.now()
            state.withLock { $0.patience *= 2 }
            send(request) { [weak self] result in self?.take(result, ofProbeAt: askedAt) }
        case .farewell(let request):
            state.withLock { $0.farewells += 1 }
            send(request) { [self] _ in
                state.withLock { $0.farewells -= 1 }
                tellEnd()
            }
        case .retrying(let why, _):
            // Told once for each loss, and for some new reasons.
            let before = state.withLock { state in
                defer { (state.problem, state.problemCount) = (why, state.problemCount + 1) }
                return state.problemCount < Self.mostProblems ? state.problem : why
            }
            if before != why { host.tell(.away(why: why, isNews: before == nil), "\(why); trying again") }
        case .ended(let end):
            state.withLock { $0.outcome = .some(end) }
            tellEnd()
        }
    }

    private func use(_ servers: [NamedICEServer]) {
        guard let namedServers else {
            return host.tell(
                .remark,
                "relays that the server names are not used, as --relay-only is for those of --turn"
            )
        }
        let peer = state.withLock(\.peer)
        namedServers.find(servers, for: host.name) { [weak self] found in
            self?.state.withLock { $0.servers = found }
            peer?.add(found)
        }
    }

    /// If something was heard meanwhile, the server has the session, and its answer does not count.
    private func take(_ result: Result<WebClient.Response, WebClientError>, ofProbeAt askedAt: Instant) {
        state.withLock(\.peer)?.askWhenHeard { [self] heardAt in
            web.perform { [self] in
                change { session, now in
                    if let heardAt, heardAt > askedAt { return session.heard() }
                    session.probed(result, now: now)
                }
            }
        }
    }

    private func tellEnd() {
        let outcome = state.withLock { state -> CallEnd?? in
            guard state.farewells == 0, let outcome = state.outcome, !state.hasToldEnd else { return nil }
            state.hasToldEnd = true
            return .some(outcome)
        }
        if let outcome { host.report(.ended(outcome)) }
    }

    /// Checks now and then when the server was heard.
    private func watch(_ peer: PeerConnection) {
        guard state.withLock({ $0.peer === peer }) else { return }
        // The silence of a server that was never heard means nothing.
        peer.askWhenHeard { [weak self] heardAt in if let heardAt { self?.note(heardAt, of: peer) } }
        web.schedule(in: Self.watchInterval) { [weak self] in self?.watch(peer) }
    }

    private func note(_ heardAt: Instant, of peer: PeerConnection) {
        let silence = MonotonicClock.now() - heardAt
        let (isLong, isBack) = state.withLock { state in
            let isBack = silence < Self.longestSilence && state.patience > Self.longestSilence
            if isBack { state.patience = Self.longestSilence }
            return (silence > state.patience, isBack)
        }
        guard isLong || isBack else { return }
        web.perform { [self] in
            guard state.withLock({ $0.peer === peer }) else { return }
            change { session, _ in if isLong { session.silent() } else { session.heard() } }
        }
    }

    private func send(
        _ request: WHIPSession.Request,
        completion: @escaping @Sendable (Result<WebClient.Response, WebClientError>) -> Void
    ) {
        var headers = request.headers
        let token = request.isAuthorized ? token?() : nil
        if let token { headers.add(name: "Authorization", value: "Bearer \(token)") }
        web.send(
            request.method,
            request.url.target,
            of: request.url.origin,
            headers,
            body: Array(request.body.utf8),
            timeout: Self.timeout
        ) { result in completion(result.map { $0.hiding(token) }) }
    }

    private func take(_ signal: PeerConnection.Signal, of peer: PeerConnection) {
        guard state.withLock({ $0.peer === peer }) else { return }
        switch signal {
        case .described(let sdp): change { session, _ in session.described(sdp) }
        case .gathered(let fragment): change { session, _ in session.gathered(fragment) }
        case .proposed(let fragment): change { session, _ in session.proposed(fragment) }
        case .answered, .found, .migrating: break
        case .connected(let codec):
            state.withLock { ($0.problem, $0.problemCount) = (nil, 0) }
            if let codec { host.tell(.standing(codec), "the server gets the picture, \(codec.rawValue)") }
            watch(peer)
            change { session, _ in session.connected() }
        case .ended(let why, _, let isFinal):
            state.withLock { $0.peer = nil }
            change { session, now in session.peerEnded(why, isFinal: isFinal, now: now) }
        }
    }
}
