import Access
import Peers
import Synchronization
import Time
import WebRTC

/// Candidates and credentials of viewers after their offers, and this side's candidates after its answer.
extension WebCall {
    /// Takes a fragment with candidates or new credentials. The completion is called once, on any thread.
    ///
    /// - Parameter address: the sender's, perhaps not the address from which the viewer joined.
    package func trickle(
        _ fragment: String,
        to id: String,
        from address: String,
        _ condition: FragmentCondition,
        completion: @escaping @Sendable (TrickleOutcome) -> Void
    ) {
        let isOpen = peers.perform { [self] loop in
            let outcome = change(id, by: fragment, from: address, condition, in: loop, orLater: completion)
            if let outcome { completion(outcome) }
        }
        if !isOpen { completion(.unknownViewer) }
    }

    /// - Returns: nil if the completion gets the outcome later.
    private func change(
        _ id: String,
        by text: String,
        from address: String,
        _ condition: FragmentCondition,
        in loop: PeerLoop,
        orLater completion: @escaping @Sendable (TrickleOutcome) -> Void
    ) -> TrickleOutcome? {
        guard let session = state.withLock({ $0.sessions[id] }), let peer = session.connection.peer(in: loop) else {
            return .unknownViewer
        }
        let fragment: TrickleFragment
        do throws(MalformedSDP) {
            fragment = try TrickleFragment(parsing: text, mids: session.negotiation.bundledMids)
        } catch {
            access.atGate { $0.noteUseless(address, now: $1) }
            return .malformed(error)
        }
        let isRestart = fragment.credentials.map { $0 != session.credentials } ?? false
        let generation = peer.transport.local?.credentials.fragment
        switch condition {
        case .generation(let wanted) where isRestart || wanted != generation: return .outdated
        case .unsaid where isRestart || fragment.credentials == nil: return .unconditional
        case .generation, .unsaid, .any: break
        }
        if isRestart, let credentials = fragment.credentials {
            guard access.atGate({ $0.mayStart(session.viewer.place, now: $1) }) else { return .tooMany }
            state.withLock { $0.sessions[id]?.credentials = credentials }
            peer.transport.restart(with: credentials)
        }
        session.connection.add(fragment.candidates, to: peer)
        guard isRestart, let local = peer.transport.local else {
            return tellLate(id, by: fragment, in: session.negotiation.transportSection, orLater: completion)
        }
        let isLast = state.withLock { state in
            // The answer has them.
            _ = state.sessions[id]?.late?.take()
            return state.sessions[id]?.late?.isComplete ?? true
        }
        let answer = TrickleFragment(credentials: local.credentials, candidates: local.candidates, isLast: isLast)
        return .restarted(
            generation: local.credentials.fragment,
            fragment: answer.description(of: session.negotiation.transportSection)
        )
    }

    /// Tells a viewer the candidates that were found since its last answer. An empty fragment waits for some.
    ///
    /// - Returns: nil if the completion gets the outcome later.
    private func tellLate(
        _ id: String,
        by fragment: TrickleFragment,
        in section: (kind: String, mid: String),
        orLater completion: @escaping @Sendable (TrickleOutcome) -> Void
    ) -> TrickleOutcome? {
        let (outcome, former) = state.withLock { state -> (TrickleOutcome?, LateCandidates.Waiter?) in
            guard var late = state.sessions[id]?.late else { return (.added, nil) }
            defer { state.sessions[id]?.late = late }
            if let found = late.take() { return (.found(fragment: found.description(of: section)), nil) }
            if late.isComplete || fragment.isLast || !fragment.candidates.isEmpty { return (.added, nil) }
            let former = late.wait { found in
                completion(found.map { .found(fragment: $0.description(of: section)) } ?? .added)
            }
            return (nil, former)
        }
        former?(nil)
        return outcome
    }
}
