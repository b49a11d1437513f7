package import Media
package import Peers
import RTP
import Synchronization
import Time
package import WebRTC

/// Lets viewers in: each makes an offer, which is answered, and may change or end its session later. `PeerGroup` sends to the
/// viewers.
///
/// Any thread may ask; all is done on the network thread of the peers.
package final class WebCall: Sendable {
    package enum Event: Sendable, CustomStringConvertible {
        case joined(number: Int, address: String, codec: VideoCodec)
        case left(number: Int, address: String, PeerSession.End, EndReason)

        package var description: String {
            switch self {
            case .joined(let number, let address, let codec):
                "viewer \(number) looks in from \(address), \(codec.rawValue)"
            case .left(let number, let address, let end, _): "viewer \(number) from \(address) \(end)"
            }
        }
    }

    /// One viewer, from the negotiation to its end.
    private struct Session {
        let number: Int
        let address: String
        let negotiation: Negotiation
        /// By what the viewer is known again; nil for nothing.
        let viewerKey: String?
        /// The viewer's of the current generation.
        var credentials: ICECredentials
        /// How many of the viewer's candidates were given to its peer, over all restarts.
        var candidateCount = 0
        /// Gets the answer, or why there is none; nil once it has been called.
        var completion: (@Sendable (Result<Admission, Refusal>) -> Void)?
    }

    private struct State: ~Copyable {
        /// Viewers by the names of their sessions.
        var sessions: [String: Session] = [:]
        /// The sessions that were kicked last, in order.
        var kicked: [String] = []
        var limits: ViewerLimits
    }

    /// How many kicked viewers are told why their sessions ended.
    private static let kickedLimit = 64

    private let peers: PeerGroup
    private let codecs: [[VideoCodec]]
    private let viewerLimit: Int
    private let report: @Sendable (Event) -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - peers: the group that viewers join; close it to end the call.
    ///   - codecs: in groups; of each group, a viewer gets the first that it takes.
    ///   - report: gets the events, on the network thread.
    package init(
        _ peers: PeerGroup,
        codecs: [[VideoCodec]],
        viewerLimit: Int,
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.peers = peers
        self.codecs = codecs
        self.viewerLimit = viewerLimit
        self.report = report
        state = Mutex(State(limits: ViewerLimits(viewerLimit: viewerLimit)))
    }

    // MARK: - Joining

    /// Answers an offer, or refuses. The completion is called once, on any thread.
    ///
    /// - Parameter viewerKey: by what the viewer is known again.
    package func join(
        offer: String,
        from address: String,
        viewerKey: String? = nil,
        completion: @escaping @Sendable (Result<Admission, Refusal>) -> Void
    ) {
        let isOpen = peers.perform { [self] loop in
            do throws(Refusal) { try admit(offer, from: address, viewerKey, in: loop, completion) } catch {
                completion(.failure(error))
            }
        }
        if !isOpen { completion(.failure(.closed)) }
    }

    private func admit(
        _ offer: String,
        from address: String,
        _ viewerKey: String?,
        in loop: PeerLoop,
        _ completion: @escaping @Sendable (Result<Admission, Refusal>) -> Void
    ) throws(Refusal) {
        let negotiation = try negotiate(offer)
        try state.withLock { state throws(Refusal) in
            guard state.sessions.count < viewerLimit else { throw .full(limit: viewerLimit) }
            guard state.limits.mayStart(address, now: loop.now) else { throw .tooMany }
        }
        var random = SystemRandomNumberGenerator()
        let id = randomName(digits: 32, using: &random)
        let peer = loop.add(negotiation.agreement, of: "web", from: address) { [self] signal in take(signal, of: id) }
        guard let peer else { throw .noTransport }
        let remote = negotiation.agreement.remote
        let session = Session(
            number: peer.number,
            address: address,
            negotiation: negotiation,
            viewerKey: viewerKey,
            credentials: remote.credentials,
            completion: completion
        )
        state.withLock { $0.sessions[id] = session }
        add(remote.candidates, to: peer, of: id, at: loop.now)
    }

    private func negotiate(_ offer: String) throws(Refusal) -> Negotiation {
        let description: SessionDescription
        do throws(MalformedSDP) { description = try SessionDescription(parsing: offer) } catch {
            throw .malformed(error)
        }
        do throws(UnacceptableOffer) { return try Negotiation(offer: description, codecs: codecs) } catch {
            throw .unacceptable(error)
        }
    }

    private func take(_ signal: Peer.Signal, of id: String) {
        switch signal {
        case .gathered(let local, let bundle):
            let session = state.withLock { state in
                defer { state.sessions[id]?.completion = nil }
                return state.sessions[id]
            }
            guard let session, let completion = session.completion else { return }
            let answer = session.negotiation.answer(
                local: local,
                bundle: bundle,
                sessionID: .random(in: 0...UInt64(Int64.max))
            )
            let generation = local.credentials.fragment
            completion(.success(Admission(id: id, answer: "\(answer)", generation: generation)))
        case .connected(let status):
            report(.joined(number: status.number, address: status.address, codec: status.codec))
        case .ended(let end, let status):
            let (session, isKicked) = state.withLock { state in
                (state.sessions.removeValue(forKey: id), state.kicked.contains(id))
            }
            session?.completion?(.failure(isKicked ? .kicked : end == .pathLost ? .noTransport : .closed))
            guard status.isConnected else { return }
            let reason = isKicked ? .kicked : EndReason(end)
            report(.left(number: status.number, address: status.address, end, reason))
        }
    }

    // MARK: - Changing

    /// Takes a fragment with candidates or new credentials. The completion is called once, on any thread.
    package func trickle(
        _ fragment: String,
        to id: String,
        _ condition: FragmentCondition,
        completion: @escaping @Sendable (TrickleOutcome) -> Void
    ) {
        let isOpen = peers.perform { [self] loop in completion(change(id, by: fragment, condition, in: loop)) }
        if !isOpen { completion(.unknownViewer) }
    }

    private func change(
        _ id: String,
        by text: String,
        _ condition: FragmentCondition,
        in loop: PeerLoop
    ) -> TrickleOutcome {
        guard let session = state.withLock({ $0.sessions[id] }), let peer = loop.peer(session.number) else {
            return .unknownViewer
        }
        let fragment: TrickleFragment
        do throws(MalformedSDP) {
            fragment = try TrickleFragment(parsing: text, mids: session.negotiation.bundledMids)
        } catch {
            return .malformed(error)
        }
        let isRestart = fragment.credentials.map { $0 != session.credentials } ?? false
        switch condition {
        case .generation where isRestart: return .outdated
        case .generation(let generation) where generation != peer.local?.credentials.fragment: return .outdated
        case .unsaid where isRestart || fragment.credentials == nil: return .unconditional
        case .generation, .unsaid, .any: break
        }
        if isRestart, let credentials = fragment.credentials {
            let mayStart = state.withLock { state in
                guard state.limits.mayStart(session.address, now: loop.now) else { return false }
                state.sessions[id]?.credentials = credentials
                return true
            }
            guard mayStart else { return .tooMany }
            peer.restart(with: credentials)
        }
        add(fragment.candidates, to: peer, of: id, at: loop.now)
        guard isRestart, let local = peer.local else { return .added }
        let answer = TrickleFragment(credentials: local.credentials, candidates: local.candidates, isLast: true)
        return .restarted(
            generation: local.credentials.fragment,
            fragment: answer.description(of: session.negotiation.transportSection)
        )
    }

    /// Has as many of a viewer's candidates tried as the limits allow.
    private func add(_ candidates: [Candidate], to peer: Peer, of id: String, at now: Instant) {
        let usable = candidates.filter { ICEAgent.canTry($0) }
        let admitted = state.withLock { state in
            guard let session = state.sessions[id] else { return 0 }
            let count = min(usable.count, ViewerLimits.candidatesOfOneViewer - session.candidateCount)
            let admitted = state.limits.admit(count, of: session.address, now: now)
            state.sessions[id]?.candidateCount += admitted
            return admitted
        }
        peer.addRemote(Array(usable.prefix(admitted)))
    }

    // MARK: - Leaving

    /// Ends a viewer's session. The completion gets whether there was one, on any thread.
    package func leave(_ id: String, completion: @escaping @Sendable (Bool) -> Void) {
        let isOpen = peers.perform { [self] loop in
            let peer = state.withLock { $0.sessions[id] }.flatMap { loop.peer($0.number) }
            if let peer { loop.close(peer, .closedByPeer) }
            completion(peer != nil)
        }
        if !isOpen { completion(false) }
    }

    /// Sends a viewer away.
    ///
    /// - Parameter number: the peer's.
    /// - Returns: whether there is such a viewer.
    package func kick(_ number: Int) -> Bool {
        guard let id = state.withLock({ $0.sessions.first { $0.value.number == number }?.key }) else { return false }
        return peers.perform { [self] loop in
            guard let peer = loop.peer(number) else { return }
            noteKicked(id)
            loop.close(peer, .closed)
        }
    }

    /// By what a viewer is known again; nil for nothing, and if there is no such viewer.
    package func viewerKey(of number: Int) -> String? {
        state.withLock { $0.sessions.values.first { $0.number == number }?.viewerKey }
    }

    /// Whether there is such a session, or one that was kicked, whose name nobody knows but its viewer.
    package func hasSession(_ id: String) -> Bool {
        state.withLock { $0.sessions[id] != nil || $0.kicked.contains(id) }
    }

    /// What is known of the way to a viewer, by the name of its session; nil if there is none.
    func report(on id: String, _ work: WebStatus.Work) -> ViewerReport? {
        guard let number = state.withLock({ $0.sessions[id]?.number }),
            let peer = peers.statuses.first(where: { $0.number == number })
        else { return nil }
        return ViewerReport(peer, target: peers.targetBitrate(for: peer), work)
    }

    /// Whether the viewer of a session was sent away lately.
    package func wasKicked(_ id: String) -> Bool { state.withLock { $0.kicked.contains(id) } }

    func noteKicked(_ id: String) {
        state.withLock { state in
            state.kicked.append(id)
            state.kicked.removeFirst(max(0, state.kicked.count - Self.kickedLimit))
        }
    }
}
