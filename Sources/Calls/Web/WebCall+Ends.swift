import Peers
import Synchronization
import WebRTC

/// The ends of viewers' sessions.
extension WebCall {
    /// Ends a viewer's session. The completion gets whether there was one, on any thread.
    package func leave(_ id: String, completion: @escaping @Sendable (Bool) -> Void) {
        let isOpen = peers.perform { [self] loop in
            guard let peer = peer(of: id, in: loop) else { return completion(false) }
            loop.close(peer, .closedByPeer)
            // In its next round, the thread knows the session no more.
            if !peers.perform({ _ in completion(true) }) { completion(true) }
        }
        if !isOpen { completion(false) }
    }

    /// Whether there is such a session, or was lately. Only its viewer knows its name.
    package func hasSession(_ id: String) -> Bool {
        state.withLock { $0.sessions[id] != nil } || reasonForEnd(of: id) != nil
    }

    func note(_ reason: EndReason, forEndOf id: String) { state.withLock { $0.note(reason, forEndOf: id) } }

    /// The reason for the end of a session, not by its viewer, that was lately or is about to come; nil for none.
    package func reasonForEnd(of id: String) -> EndReason? { state.withLock { $0.reasonForEnd(of: id) } }
}
