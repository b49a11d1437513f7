import Access
import Control
import ICE
import Media
import Peers
import Posix
import Synchronization
import Time
import WebRTC

/// Lets viewers in. Each makes an offer, and may change or end its session later. `PeerGroup` sends to the viewers. Any thread may ask. The
/// work is done on the network thread of the peers.
package final class WebCall: Sendable {
    let host: CallHost
    let peers: PeerGroup
    let viewerLimit: Int
    let state: Mutex<ViewerSessions>

    /// - Parameters:
    ///   - host: gets the reports on the network thread. Close its network to end the call.
    ///   - viewerLimit: the most viewers; there are fewer places if there are fewer ports.
    package init(in host: CallHost, viewerLimit: Int) throws {
        (self.host, peers) = (host, try host.network.peers())
        // Each needs a port.
        let viewerLimit = min(viewerLimit, peers.configuration.ice.ports?.count ?? viewerLimit)
        self.viewerLimit = viewerLimit
        state = Mutex(ViewerSessions(viewerLimit: viewerLimit))
    }

    var access: AccessControl { host.access }

    /// Does a task for a newcomer in the next round of the network thread. If that is impossible, or the task throws, the completion gets the
    /// refusal.
    func perform(
        for viewer: PeerConnection.Other,
        orRefuse completion: @escaping @Sendable (Result<Admission, Refusal>) -> Void,
        _ task: @escaping @Sendable (PeerLoop) throws(Refusal) -> Void
    ) {
        let isOpen = peers.perform { [self] loop in
            do throws(Refusal) { try task(loop) } catch {
                if case .full = error { tell(error, to: viewer) }
                completion(.failure(error))
            }
        }
        if !isOpen { completion(.failure(.closed)) }
    }

    /// Reports that a viewer was turned away, once a minute for each network.
    func tell(_ refusal: Refusal, to viewer: PeerConnection.Other) {
        let isDue = access.atGate { $0.isToldRefusal(of: viewer.place, now: $1) }
        if isDue { host.report(.turnedAway(from: viewer.place, viewer.name, refusal)) }
    }

    // MARK: - Signals

    func take(_ signal: PeerConnection.Signal, of id: String) {
        switch signal {
        case .answered(let sdp, let local):
            let session = state.withLock { $0.answer(id, isTrickling: local.isTrickling) }
            guard let session, let completion = session.completion else { return }
            if peers.configuration.ice.isRelayOnly, local.candidates.isEmpty { return turnAway(session, completion) }
            let generation = local.credentials.fragment
            completion(.success(Admission(id: id, answer: sdp, generation: generation, lease: session.lease)))
        case .found(let fragment):
            let waiter = state.withLock { state in state.sessions[id]?.late?.add(fragment) }
            waiter?(fragment)
        // Viewers choose when.
        case .described, .gathered, .proposed, .migrating: break
        case .connected(let codec):
            let session = state.withLock { $0.connect(id) }
            if let session { host.report(.joined(session.viewer, codec)) }
        case .ended(let why, let reason, _):
            guard let session = state.withLock({ $0.remove(id, reason, at: MonotonicClock.now()) }) else { return }
            session.late?.waiter?(nil)
            session.completion?(.failure(refusal(after: reason)))
            if session.isConnected { host.report(.left(session.viewer, why, reason)) }
        }
    }

    /// Refuses a viewer to which there is no path: media goes by relays alone, and none works.
    private func turnAway(
        _ session: ViewerSession,
        _ completion: @escaping @Sendable (Result<Admission, Refusal>) -> Void
    ) {
        _ = peers.perform { [self] loop in
            tell(.noRelay, to: session.connection.other)
            if let peer = session.connection.peer(in: loop) { loop.close(peer, .pathLost) }
        }
        completion(.failure(.noRelay))
    }

    /// The refusal of a viewer whose session has ended before the answer.
    private func refusal(after reason: EndReason) -> Refusal {
        switch reason {
        case .kicked: .kicked
        case .busy: .full(limit: viewerLimit)
        case .lost: .noTransport
        case .leaseExpired: .expired
        case .revoked: .revoked
        default: .closed
        }
    }

    // MARK: - Ends

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

    /// The reason for the end of a session, not by its viewer, that was lately or is about to come; nil for none.
    package func reasonForEnd(of id: String) -> EndReason? {
        state.withLock { $0.reasonForEnd(of: id, at: MonotonicClock.now()) }
    }

    // MARK: - Viewers

    /// Nil if there is no such session, or it has ended.
    func peer(of id: String, in loop: PeerLoop) -> Peer? {
        state.withLock { $0.sessions[id] }?.connection.peer(in: loop)
    }

    /// The state of a viewer's link, by the name of its session; nil if there is none.
    func report(on id: String, _ work: SenderSnapshot.Work) -> PageViewer? {
        guard let session = state.withLock({ $0.sessions[id] }),
            let peer = peers.statuses.first(where: { $0.id == session.viewer.id })
        else { return nil }
        let target = peers.targetBitrate(for: peer)
        let now: Instant = MonotonicClock.now()
        var viewer = ViewerSnapshot(session.viewer, peer, target: target, at: now)
        let (talk, leaseEnd) = access.read { ($0.talkState(of: peer.id), $0.leaseEnd(of: peer.id)) }
        viewer.participant.talk = talk
        viewer.participant.note(leaseEnd: leaseEnd, at: now)
        return PageViewer(viewer, rendition: (peer.rendition?.rung ?? 0) + 1, work)
    }
}
