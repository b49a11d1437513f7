package import HTTP
package import Media
package import Peers
import Posix
import RTP
import Synchronization
import Time

/// Sends the screen to a media server by WHIP.
///
/// The session runs on the web client's thread, the peer on the network thread of the peers. Close the call, then both.
package final class WHIPCall: JoinedCall {
    package enum Event: Sendable, CustomStringConvertible {
        case connected(codec: VideoCodec)
        case retrying(why: String)

        package var description: String {
            switch self {
            case .connected(let codec): "the server gets the picture, \(codec.rawValue)"
            case .retrying(let why): "\(why); trying again"
            }
        }
    }

    private struct State {
        /// What becomes of an earlier one does not count.
        var peer: CallPeer?
        /// Requests on their way that the end waits for, and that end.
        var farewells = 0
        var outcome: CallEnd??
        var isLost = false
        /// How long nothing must have been heard before the server is asked; longer each time, until something is heard.
        var patience = WHIPCall.longestSilence
        var end: (@Sendable (CallEnd?) -> Void)?
    }

    /// How long a server may take for an answer.
    private static let timeout = Duration.seconds(10)
    /// Servers report once a second and more often; after so long a silence, it is asked whether the session is still there.
    private static let longestSilence = Duration.milliseconds(2200)
    private static let watchInterval = Duration.milliseconds(500)

    private let endpoint: WebURL
    private let web: WebClient
    private let peers: PeerGroup
    private let codecs: [[VideoCodec]]
    private let report: @Sendable (Event) -> Void
    private let driver: SessionDriver<WHIPSession>
    private let state: Mutex<State>

    /// Begins to publish.
    ///
    /// - Parameters:
    ///   - token: a bearer token; nil for none.
    ///   - codecs: in groups; of each group, the server gets the first that it takes.
    ///   - report: gets the events, on the web client's thread.
    ///   - ended: called once when the call is over: nil if it was closed.
    package init(
        to endpoint: WebURL,
        token: String?,
        codecs: [[VideoCodec]],
        by web: WebClient,
        to peers: PeerGroup,
        report: @escaping @Sendable (Event) -> Void,
        ended: @escaping @Sendable (CallEnd?) -> Void
    ) {
        (self.endpoint, self.codecs, self.web, self.peers, self.report) = (endpoint, codecs, web, peers, report)
        driver = SessionDriver(WHIPSession(endpoint, token: token), by: web)
        state = Mutex(State(end: ended))
        web.perform { [self] in change { session, _ in session.start() } }
    }

    package func close() {
        web.perform { [self] in change { session, _ in session.leave() } }
    }

    private func change(_ body: (inout WHIPSession, Instant) -> Void) {
        let outputs = driver.change(body) { [weak self] in self?.change { session, now in session.tick(now: now) } }
        for output in outputs { perform(output) }
    }

    private func perform(_ output: WHIPSession.Output) {
        switch output {
        case .offer:
            let peer = CallPeer(
                peers,
                codecs: codecs,
                for: .forwarded,
                of: "whip+\(endpoint)",
                at: "\(endpoint.origin)"
            ) {
                [weak self, web] signal, peer in
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
            // Once for each time that it is lost.
            let isNews = state.withLock { state in
                defer { state.isLost = true }
                return !state.isLost
            }
            if isNews { report(.retrying(why: why)) }
        case .ended(let end):
            state.withLock { $0.outcome = .some(end) }
            tellEnd()
        }
    }

    /// If something was heard meanwhile, the server has the session, whatever it says.
    private func take(_ result: Result<WebClient.Response, WebClientError>, ofProbeAt askedAt: Instant) {
        state.withLock(\.peer)?.askWhenHeard { [self] heardAt in
            web.perform { [self] in
                change { session, now in
                    if heardAt > askedAt { session.heard() } else { session.probed(result, now: now) }
                }
            }
        }
    }

    private func tellEnd() {
        let (end, outcome) = state.withLock { state -> ((@Sendable (CallEnd?) -> Void)?, CallEnd?) in
            guard state.farewells == 0, let outcome = state.outcome else { return (nil, nil) }
            return (state.end.take(), outcome)
        }
        end?(outcome)
    }

    /// Looks now and then whether anything is heard of the server.
    private func watch(_ peer: CallPeer) {
        guard state.withLock({ $0.peer === peer }) else { return }
        peer.askWhenHeard { [weak self] heardAt in self?.note(heardAt, of: peer) }
        web.schedule(in: Self.watchInterval) { [weak self] in self?.watch(peer) }
    }

    private func note(_ heardAt: Instant, of peer: CallPeer) {
        let silence = MonotonicClock.now() - heardAt
        let isLong = state.withLock { state in
            if silence < Self.longestSilence { state.patience = Self.longestSilence }
            return silence > state.patience
        }
        guard isLong else { return }
        web.perform { [self] in
            if state.withLock({ $0.peer === peer }) { change { session, _ in session.silent() } }
        }
    }

    private func send(
        _ request: WHIPSession.Request,
        completion: @escaping @Sendable (Result<WebClient.Response, WebClientError>) -> Void
    ) {
        web.send(
            request.method,
            request.url.target,
            of: request.url.origin,
            request.headers,
            body: Array(request.body.utf8),
            timeout: Self.timeout,
            completion: completion
        )
    }

    private func take(_ signal: CallPeer.Signal, of peer: CallPeer) {
        guard state.withLock({ $0.peer === peer }) else { return }
        switch signal {
        case .described(let sdp): change { session, _ in session.described(sdp) }
        case .connected(let codec):
            state.withLock { $0.isLost = false }
            if let codec { report(.connected(codec: codec)) }
            watch(peer)
            change { session, _ in session.connected() }
        case .ended(let why, _, let isFinal):
            state.withLock { $0.peer = nil }
            change { session, now in session.peerEnded(why, isFinal: isFinal, now: now) }
        }
    }
}
