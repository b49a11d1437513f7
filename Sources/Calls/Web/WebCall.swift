import HTTP
package import Media
package import Peers
import Posix
import RTP
import Synchronization
import Time
import WebRTC

/// Lets viewers in: each makes an offer, which is answered, and may change or end its session later. `PeerGroup` sends to the
/// viewers.
///
/// Any thread may ask; all is done on the network thread of the peers.
package final class WebCall: Sendable {
    /// One viewer, from the negotiation to its end.
    private struct Session {
        let viewer: Viewer
        /// By what the viewer is known again, as `Visitor.key`; nil for nothing.
        let key: String?
        let negotiation: Negotiation
        /// The viewer's of the current generation.
        var credentials: ICECredentials
        /// How many of the viewer's candidates were given to its peer, over all restarts.
        var candidateCount = 0
        /// Why this side ends it; nil if it does not.
        var reason: EndReason?
        /// Gets the answer, or why there is none; nil once it has been called.
        var completion: (@Sendable (Result<Admission, Refusal>) -> Void)?
        /// Nil until the answer is there, and where the viewer takes candidates in that alone.
        var late: LateCandidates?
        let trickles: Bool

        /// Whether the viewer's sound is taken.
        var canSpeak: Bool { negotiation.agreement.sound?.isReceived ?? false }
    }

    /// A viewer that has a place and no peer yet.
    private struct Newcomer: Sendable {
        let id: String
        let address: String
        let name: String
        let key: String?
        let negotiation: Negotiation
        let trickles: Bool
        let completion: @Sendable (Result<Admission, Refusal>) -> Void
    }

    private struct State: ~Copyable {
        /// Viewers by the names of their sessions.
        var sessions: [String: Session] = [:]
        /// The sessions that ended last without their viewers' doing, in order.
        var ended: [(id: String, reason: EndReason)] = []
        var places: ViewerPlaces
        var limits: ViewerLimits
        var toldRefusals = NetworkAllowance.ofToldRefusals

        /// How many viewers are told why their sessions ended.
        private static let endedLimit = 64

        mutating func note(_ reason: EndReason, forEndOf id: String) {
            ended.append((id, reason))
            ended.removeFirst(max(0, ended.count - Self.endedLimit))
        }
    }

    private let peers: PeerGroup
    private let codecs: [[VideoCodec]]
    private let viewerLimit: Int
    /// Nil where no viewer is heard.
    private let talk: TalkDesk?
    private let report: @Sendable (Event) -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - peers: the group that viewers join; close it to end the call.
    ///   - codecs: in groups; of each group, a viewer gets the first that it takes.
    ///   - viewerLimit: the most viewers; there are fewer places if the group has fewer ports.
    ///   - talk: decides who may speak; nil where nobody is heard.
    ///   - report: gets the events, on the network thread.
    package init(
        _ peers: PeerGroup,
        codecs: [[VideoCodec]],
        viewerLimit: Int,
        talk: TalkDesk? = nil,
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.peers = peers
        self.codecs = codecs
        let viewerLimit = min(viewerLimit, peers.ports?.count ?? viewerLimit)
        self.viewerLimit = viewerLimit
        self.talk = talk
        self.report = report
        state = Mutex(State(places: ViewerPlaces(limit: viewerLimit), limits: ViewerLimits(viewerLimit: viewerLimit)))
    }

    // MARK: - Joining

    /// Answers an offer, or refuses. The completion is called once, on any thread.
    ///
    /// - Parameters:
    ///   - name: what the viewer says of itself; may be empty.
    ///   - key: by what it is known again, as `Visitor.key`; nil for nothing.
    ///   - trickles: whether it asks for candidates that are found after the answer.
    package func join(
        offer: String,
        from address: String,
        name: String = "",
        key: String? = nil,
        trickles: Bool = false,
        completion: @escaping @Sendable (Result<Admission, Refusal>) -> Void
    ) {
        perform(orRefuse: completion) { [self] loop throws(Refusal) in
            do throws(Refusal) {
                try admit(offer, from: address, name, key, trickles: trickles, in: loop, completion)
            } catch {
                if case .full = error { tell(error, from: address, name, at: loop.now) }
                throw error
            }
        }
    }

    /// Does a task in the next round of the network thread. If that is impossible, or the task throws, the completion gets why.
    private func perform(
        orRefuse completion: @escaping @Sendable (Result<Admission, Refusal>) -> Void,
        _ task: @escaping @Sendable (PeerLoop) throws(Refusal) -> Void
    ) {
        let isOpen = peers.perform { loop in
            do throws(Refusal) { try task(loop) } catch { completion(.failure(error)) }
        }
        if !isOpen { completion(.failure(.closed)) }
    }

    private func tell(_ refusal: Refusal, from address: String, _ name: String, at now: Instant) {
        let isDue = state.withLock { $0.toldRefusals.take(from: address, now: now) == 1 }
        if isDue { report(.turnedAway(address: address, name: name, refusal)) }
    }

    private func admit(
        _ offer: String,
        from address: String,
        _ name: String,
        _ key: String?,
        trickles: Bool,
        in loop: PeerLoop,
        _ completion: @escaping @Sendable (Result<Admission, Refusal>) -> Void
    ) throws(Refusal) {
        // While there is no place, offers are not read.
        let vacancy = try vacancy(for: address, at: loop.now)
        let negotiation = try negotiate(offer, from: address, at: loop.now)
        guard state.withLock({ $0.limits.mayStart(address, now: loop.now) }) else { throw .tooMany }
        var random = SystemRandomNumberGenerator()
        let newcomer = Newcomer(
            id: randomName(digits: 32, using: &random),
            address: address,
            name: name,
            key: key,
            negotiation: negotiation,
            trickles: trickles,
            completion: completion
        )
        state.withLock { $0.places.take(newcomer.id, from: address, now: loop.now) }
        guard case .insteadOf(let other) = vacancy else { return try add(newcomer, in: loop) }
        end(other, in: loop)
        // The port of the other one is free in the next round, and perhaps no other port.
        perform(orRefuse: completion) { [self] loop throws(Refusal) in try add(newcomer, in: loop) }
    }

    private func add(_ newcomer: Newcomer, in loop: PeerLoop) throws(Refusal) {
        let (id, negotiation) = (newcomer.id, newcomer.negotiation)
        guard state.withLock({ $0.places.isWaiting(id) }) else { throw .full(limit: viewerLimit) }
        let peer = loop.add(
            negotiation.agreement,
            of: "web",
            from: newcomer.address,
            trickles: newcomer.trickles
        ) { [self] signal in
            take(signal, of: id)
        }
        guard let peer else {
            state.withLock { $0.places.leave(id) }
            throw .noTransport
        }
        let remote = negotiation.agreement.remote
        let session = Session(
            viewer: Viewer(number: peer.number, address: newcomer.address, name: newcomer.name),
            key: newcomer.key,
            negotiation: negotiation,
            credentials: remote.credentials,
            completion: newcomer.completion,
            trickles: newcomer.trickles
        )
        state.withLock { $0.sessions[id] = session }
        if let key = session.key, session.canSpeak { talk?.identify(peer.number, key) }
        add(remote.candidates, to: peer, of: id, at: loop.now)
    }

    /// The place that somebody gets who comes now.
    private func vacancy(for address: String, at now: Instant) throws(Refusal) -> ViewerPlaces.Vacancy {
        let vacancy = state.withLock { $0.places.vacancy(for: address, now: now) }
        switch vacancy {
        case .free, .insteadOf: return vacancy
        case .none: throw .full(limit: viewerLimit)
        case .crowded: throw .tooMany
        }
    }

    /// Ends the session of a viewer that has not connected, as its place is another one's.
    private func end(_ id: String, in loop: PeerLoop) {
        let number = state.withLock { state in
            state.places.leave(id)
            state.sessions[id]?.reason = .busy
            return state.sessions[id]?.viewer.number
        }
        if let peer = number.flatMap({ loop.peer($0) }) { loop.close(peer, .closed) }
    }

    /// Why nothing is read that comes from an address; nil if it is.
    func refusalToRead(from address: String) -> Refusal? {
        let now: Instant = MonotonicClock.now()
        return state.withLock { $0.limits.waitToBeRead(address, now: now) }.map { .unread(retryAfter: $0) }
    }

    /// Why an offer would be refused now, as far as that shows without a peer; nil if it would not. Nobody needs to be asked about it.
    func refusal(of offer: String, from address: String, name: String) -> Refusal? {
        let now: Instant = MonotonicClock.now()
        do throws(Refusal) {
            _ = try vacancy(for: address, at: now)
            _ = try negotiate(offer, from: address, at: now)
            return nil
        } catch {
            if case .full = error {
                _ = peers.perform { [self] loop in tell(error, from: address, name, at: loop.now) }
            }
            return error
        }
    }

    private func negotiate(_ offer: String, from address: String, at now: Instant) throws(Refusal) -> Negotiation {
        do throws(Refusal) { return try negotiate(offer) } catch {
            state.withLock { $0.limits.noteUseless(address, now: now) }
            throw error
        }
    }

    private func negotiate(_ offer: String) throws(Refusal) -> Negotiation {
        let description: SessionDescription
        do throws(MalformedSDP) { description = try SessionDescription(parsing: offer) } catch {
            throw .malformed(error)
        }
        do throws(UnacceptableOffer) {
            return try Negotiation(
                offer: description,
                codecs: codecs,
                sound: .sound(receives: peers.takesVoices)
            )
        } catch {
            throw .unacceptable(error)
        }
    }

    /// There is no way to a viewer, or from it.
    private func turnAway(_ session: Session, _ completion: @escaping @Sendable (Result<Admission, Refusal>) -> Void) {
        _ = peers.perform { [self] loop in
            tell(.noRelay, from: session.viewer.address, session.viewer.name, at: loop.now)
            if let peer = loop.peer(session.viewer.number) { loop.close(peer, .pathLost) }
        }
        completion(.failure(.noRelay))
    }

    private func take(_ signal: Peer.Signal, of id: String) {
        switch signal {
        case .gathered(let local, let bundle):
            let session = state.withLock { state in
                guard let session = state.sessions[id] else { return nil as Session? }
                state.sessions[id]?.completion = nil
                if session.trickles {
                    state.sessions[id]?.late = LateCandidates(isComplete: !local.isTrickling)
                }
                return session
            }
            guard let session, let completion = session.completion else { return }
            if peers.isRelayOnly, local.candidates.isEmpty { return turnAway(session, completion) }
            let answer = session.negotiation.answer(
                local: local,
                bundle: bundle,
                sessionID: .random(in: 0...UInt64(Int64.max))
            )
            let generation = local.credentials.fragment
            completion(.success(Admission(id: id, answer: "\(answer)", generation: generation)))
        case .found(let fragment):
            let waiter = state.withLock { state in state.sessions[id]?.late?.add(fragment) }
            waiter?(fragment)
        // Viewers choose when.
        case .proposed, .migrating: break
        case .connected(let status):
            let session = state.withLock { state in
                if state.sessions[id] != nil { state.places.connect(id) }
                return state.sessions[id]
            }
            if let session { report(.joined(session.viewer, status.codec)) }
        case .ended(let end, let status):
            // At no instant is the session unknown while its viewer does not know why.
            let ended = state.withLock { state -> (session: Session, reason: EndReason)? in
                guard let session = state.sessions.removeValue(forKey: id) else { return nil }
                state.places.leave(id)
                let reason = session.reason ?? EndReason(end)
                if reason != .hungUp { state.note(reason, forEndOf: id) }
                return (session, reason)
            }
            guard let (session, reason) = ended else { return }
            var late = session.late
            late?.end()?(nil)
            session.completion?(.failure(refusal(after: end, reason)))
            if status.isConnected { report(.left(session.viewer, end, reason)) }
        }
    }

    /// Why a viewer gets no answer whose session has ended.
    private func refusal(after end: PeerSession.End, _ reason: EndReason) -> Refusal {
        switch reason {
        case .kicked: .kicked
        case .busy: .full(limit: viewerLimit)
        default: end == .pathLost ? .noTransport : .closed
        }
    }

    // MARK: - Changing

    /// Takes a fragment with candidates or new credentials. The completion is called once, on any thread.
    ///
    /// - Parameter address: where the fragment came from, perhaps not the address from which the viewer joined.
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
        guard let session = state.withLock({ $0.sessions[id] }), let peer = loop.peer(session.viewer.number) else {
            return .unknownViewer
        }
        let fragment: TrickleFragment
        do throws(MalformedSDP) {
            fragment = try TrickleFragment(parsing: text, mids: session.negotiation.bundledMids)
        } catch {
            state.withLock { $0.limits.noteUseless(address, now: loop.now) }
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
                guard state.limits.mayStart(session.viewer.address, now: loop.now) else { return false }
                state.sessions[id]?.credentials = credentials
                return true
            }
            guard mayStart else { return .tooMany }
            peer.restart(with: credentials)
        }
        add(fragment.candidates, to: peer, of: id, at: loop.now)
        guard isRestart, let local = peer.local else {
            return tellLate(id, by: fragment, in: session.negotiation.transportSection, orLater: completion)
        }
        let isLast = state.withLock { state in
            state.sessions[id]?.late?.forget()
            return state.sessions[id]?.late?.isComplete ?? true
        }
        let answer = TrickleFragment(credentials: local.credentials, candidates: local.candidates, isLast: isLast)
        return .restarted(
            generation: local.credentials.fragment,
            fragment: answer.description(of: session.negotiation.transportSection)
        )
    }

    /// Tells a viewer of candidates that were found since it was answered, or since it has asked last. A fragment that brings nothing
    /// waits for some.
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

    /// Has as many of a viewer's candidates tried as the limits allow.
    private func add(_ candidates: [Candidate], to peer: Peer, of id: String, at now: Instant) {
        let usable = candidates.filter { ICEAgent.canTry($0) }
        let admitted = state.withLock { state in
            guard let session = state.sessions[id] else { return 0 }
            let count = min(usable.count, ViewerLimits.candidatesOfOneViewer - session.candidateCount)
            let admitted = state.limits.admit(count, of: session.viewer.address, now: now)
            state.sessions[id]?.candidateCount += admitted
            return admitted
        }
        peer.addRemote(Array(usable.prefix(admitted)))
    }

    // MARK: - Speaking

    /// A viewer wants to speak, or does not any more. The completion is called once, on any thread.
    func talk(_ id: String, wants: Bool, completion: @escaping @Sendable (TalkOutcome) -> Void) {
        let isOpen = peers.perform { [self] loop in completion(talk(id, wants: wants, in: loop)) }
        if !isOpen { completion(.unknownViewer) }
    }

    private func talk(_ id: String, wants: Bool, in loop: PeerLoop) -> TalkOutcome {
        guard let session = state.withLock({ $0.sessions[id] }), loop.peer(session.viewer.number) != nil else {
            return .unknownViewer
        }
        guard let talk else { return .off }
        guard session.canSpeak else { return .cannotSpeak }
        let number = session.viewer.number
        if !wants {
            talk.withdraw(number)
            return .state(talk.state(number))
        }
        let wait = state.withLock { $0.limits.waitToAsk(session.viewer.address, now: loop.now) }
        return wait.map { .tooOften(seconds: $0) } ?? TalkOutcome(talk.ask(number), at: loop.now)
    }

    // MARK: - Hearing

    /// Leaves out sound for a viewer that has as much in its buffer. The completion gets whether there is such a viewer, on any
    /// thread.
    func skipSound(_ id: String, _ length: Duration, completion: @escaping @Sendable (Bool) -> Void) {
        let isOpen = peers.perform { [self] loop in
            let peer = state.withLock { $0.sessions[id] }.flatMap { loop.peer($0.viewer.number) }
            peer?.skipSound(length, at: loop.now)
            completion(peer != nil)
        }
        if !isOpen { completion(false) }
    }

    // MARK: - Leaving

    /// Ends a viewer's session. The completion gets whether there was one, on any thread.
    package func leave(_ id: String, completion: @escaping @Sendable (Bool) -> Void) {
        let isOpen = peers.perform { [self] loop in
            let peer = state.withLock { $0.sessions[id] }.flatMap { loop.peer($0.viewer.number) }
            guard let peer else { return completion(false) }
            loop.close(peer, .closedByPeer)
            // In its next round, the thread knows the session no more.
            if !peers.perform({ _ in completion(true) }) { completion(true) }
        }
        if !isOpen { completion(false) }
    }

    /// Sends a viewer away, with all sessions of its key: another window of its browser shows the same to the same person.
    ///
    /// - Parameter number: the peer's.
    /// - Returns: whether there is such a viewer.
    package func kick(_ number: Int) -> Bool {
        let numbers = state.withLock { state -> [Int] in
            guard let kicked = state.sessions.values.first(where: { $0.viewer.number == number }) else { return [] }
            let ids = state.sessions.filter { _, session in
                session.viewer.number == number || session.key != nil && session.key == kicked.key
            }.keys
            return ids.compactMap { id in
                state.sessions[id]?.reason = .kicked
                return state.sessions[id]?.viewer.number
            }
        }
        return !numbers.isEmpty
            && peers.perform { loop in
                for peer in numbers.compactMap({ loop.peer($0) }) { loop.close(peer, .closed) }
            }
    }

    /// The name of a viewer, and by what it is known again; nil if there is no such viewer.
    package func viewer(_ number: Int) -> (name: String, key: String?)? {
        state.withLock { state in
            state.sessions.values.first { $0.viewer.number == number }.map { ($0.viewer.name, $0.key) }
        }
    }

    /// Whether there is such a session, or one that ended lately, whose name nobody knows but its viewer.
    package func hasSession(_ id: String) -> Bool {
        state.withLock { $0.sessions[id] != nil } || reasonForEnd(of: id) != nil
    }

    /// What is known of the way to a viewer, by the name of its session; nil if there is none.
    func report(on id: String, _ work: WebStatus.Work) -> ViewerReport? {
        guard let session = state.withLock({ $0.sessions[id] }),
            let peer = peers.statuses.first(where: { $0.number == session.viewer.number })
        else { return nil }
        let talk = session.canSpeak ? talk?.state(peer.number) : nil
        return ViewerReport(peer, target: peers.targetBitrate(for: peer), work, talk ?? .off)
    }

    func note(_ reason: EndReason, forEndOf id: String) { state.withLock { $0.note(reason, forEndOf: id) } }

    /// Why a session ended lately without its viewer's doing, or is about to; nil if it did not.
    package func reasonForEnd(of id: String) -> EndReason? {
        state.withLock { state in
            state.sessions[id]?.reason ?? state.ended.first { $0.id == id }?.reason
        }
    }
}
