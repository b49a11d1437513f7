import Media
import Peers
import Synchronization
import WebRTC

/// How sessions of viewers end, and why.
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

    /// Whether there is such a session, or one that ended lately, whose name nobody knows but its viewer.
    package func hasSession(_ id: String) -> Bool {
        state.withLock { $0.sessions[id] != nil } || reasonForEnd(of: id) != nil
    }

    func note(_ reason: EndReason, forEndOf id: String) { state.withLock { $0.note(reason, forEndOf: id) } }

    /// Why a session ended lately without its viewer's doing, or is about to; nil if it did not.
    package func reasonForEnd(of id: String) -> EndReason? { state.withLock { $0.reasonForEnd(of: id) } }
}
