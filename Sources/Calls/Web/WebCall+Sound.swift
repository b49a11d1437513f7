import Access
import Media
import Peers
import Time

/// Requests of viewers about sound: to speak, and to hear it sooner.
extension WebCall {
    // MARK: - Speaking

    /// A viewer wants to speak, or no longer. The completion is called once, on any thread.
    func talk(_ id: String, wants: Bool, completion: @escaping @Sendable (TalkOutcome) -> Void) {
        let isOpen = peers.perform { [self] loop in completion(talk(id, wants: wants, in: loop)) }
        if !isOpen { completion(.unknownViewer) }
    }

    private func talk(_ id: String, wants: Bool, in loop: PeerLoop) -> TalkOutcome {
        guard let peer = peer(of: id, in: loop) else { return .unknownViewer }
        if access.talk == .off { return .off }
        guard peer.canSpeak, let viewer = host.network.participants[peer.id] else { return .cannotSpeak }
        let participant = viewer.id
        if !wants {
            return access.change { engine, now in
                engine.withdraw(participant, at: now)
                return .state(engine.talkState(of: participant))
            }
        }
        let wait = access.atGate { $0.waitToAsk(viewer.place, now: $1) }
        if let wait { return .tooOften(seconds: wait) }
        return TalkOutcome(access.change { $0.askToTalk(participant, at: $1) }, at: loop.now)
    }

    // MARK: - Hearing

    /// Leaves out sound for a viewer with too long a buffer. The completion gets whether there is such a viewer, on any thread.
    func skipSound(_ id: String, _ length: Duration, completion: @escaping @Sendable (Bool) -> Void) {
        let isOpen = peers.perform { [self] loop in
            let peer = peer(of: id, in: loop)
            peer?.skipSound(length, at: loop.now)
            completion(peer != nil)
        }
        if !isOpen { completion(false) }
    }
}

/// The answer to a viewer's wish to speak, or not to.
enum TalkOutcome: Sendable {
    case state(TalkState)
    /// No viewer is heard here.
    case off
    /// The session's offer does not send sound.
    case cannotSpeak
    /// Seconds until it may ask again.
    case refused(seconds: Int)
    case tooOften(seconds: Int)
    case unknownViewer

    init(_ answer: TalkAnswer, at now: Instant) {
        func seconds(until instant: Instant) -> Int { Int(max(instant - now, .zero).components.seconds) + 1 }
        self =
            switch answer {
            case .granted: .state(.granted)
            case .asked: .state(.asked)
            case .refused(let until): .refused(seconds: seconds(until: until))
            case .tooOften(let until): .tooOften(seconds: seconds(until: until))
            }
    }
}
