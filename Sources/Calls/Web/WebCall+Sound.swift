import Access
import Peers
import Synchronization

/// What viewers want of sound: to speak, and to hear it sooner.
extension WebCall {
    // MARK: - Speaking

    /// A viewer wants to speak, or does not any more. The completion is called once, on any thread.
    func talk(_ id: String, wants: Bool, completion: @escaping @Sendable (TalkOutcome) -> Void) {
        let isOpen = peers.perform { [self] loop in completion(talk(id, wants: wants, in: loop)) }
        if !isOpen { completion(.unknownViewer) }
    }

    private func talk(_ id: String, wants: Bool, in loop: PeerLoop) -> TalkOutcome {
        guard let session = state.withLock({ $0.sessions[id] }), loop.peer(session.viewer.id) != nil else {
            return .unknownViewer
        }
        guard let talk else { return .off }
        guard session.canSpeak else { return .cannotSpeak }
        let participant = session.viewer.id
        if !wants {
            talk.withdraw(participant)
            return .state(talk.state(participant))
        }
        let wait = access.atGate { $0.limits.waitToAsk(session.viewer.address, now: loop.now) }
        return wait.map { .tooOften(seconds: $0) } ?? TalkOutcome(talk.ask(participant), at: loop.now)
    }

    // MARK: - Hearing

    /// Leaves out sound for a viewer that has as much in its buffer. The completion gets whether there is such a viewer, on any
    /// thread.
    func skipSound(_ id: String, _ length: Duration, completion: @escaping @Sendable (Bool) -> Void) {
        let isOpen = peers.perform { [self] loop in
            let peer = state.withLock { $0.sessions[id] }.flatMap { loop.peer($0.viewer.id) }
            peer?.skipSound(length, at: loop.now)
            completion(peer != nil)
        }
        if !isOpen { completion(false) }
    }
}
