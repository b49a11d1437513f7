import Time

/// The choice of the other member, and its admission.
extension RoomSession {
    // MARK: - Coming and going

    mutating func came(_ id: String, now: Instant) {
        guard let other, other.isTalking, state == .connected else { return meet(Comer(id: id, since: now), now: now) }
        comer = Comer(id: id, since: now)
    }

    /// Another member has come, or has offered in the place of the one before.
    mutating func meet(_ comer: Comer, now: Instant) {
        if let offer = comer.offer { return meet(comer, offering: offer, now: now) }
        guard state.transition(on: .otherJoined) != nil else { return change(.otherJoined) }
        if other?.isTalking ?? false { part(.lost) }
        forgetOther()
        wasFirst = true
        other = newcomer(comer.id, now: now)
        emit(.hello(introduction))
        if let introduction = comer.introduction { introduced(introduction, now: now) }
        switch other?.admission {
        case .granted?: change(.otherJoined)
        default: if state == .connected { change(.bye) }
        }
    }

    private mutating func meet(_ comer: Comer, offering offer: String, now: Instant) {
        if other?.isTalking ?? false { part(.lost) }
        forgetOther()
        wasFirst = false
        other = newcomer(comer.id, now: now)
        if state == .connected { change(.bye) }
        if let introduction = comer.introduction { introduced(introduction, now: now) }
        received(offer: offer, from: nil, now: now)
    }

    mutating func went(_ id: String, now: Instant) {
        if let comer, comer.id == id { return self.comer = nil }
        if let index = thirds.firstIndex(of: id) {
            thirds.remove(at: index)
            return
        }
        // A silent member that was there first.
        if namesSenders, let known = other?.id, known != id { return }
        change(.bye)
        let comer = comer
        if let other {
            if let parting = other.parting { part(parting.reason, parting.why) }
            // Other programs do not say goodbye.
            if other.isTalking, !takeFarewell(now: now) {
                other.introduction == nil ? part(.hungUp, "has left") : part(.lost)
            }
        }
        forgetOther()
        if let comer { meet(comer, now: now) }
    }

    /// Decides whether a comer is a third member or the other one again.
    mutating func judge(_ comer: Comer, now: Instant) {
        self.comer = nil
        guard comer.isThird else { return meet(comer, now: now) }
        if let id = comer.id {
            if thirds.count < Self.mostThirds { thirds.append(id) }
            emit(.end(.busy, to: id))
        }
        outputs.append(.turnedAway)
    }

    func newcomer(_ id: String?, now: Instant) -> OtherMember {
        OtherMember(id: id, introduction.asks ? .unknown(until: now + Self.introductionTime) : .granted)
    }

    mutating func forgetOther() {
        if case .asked? = other?.admission { outputs.append(.askNoMore) }
        (other, comer) = (nil, nil)
    }

    // MARK: - Messages of the other member

    mutating func received(_ message: RoomMessage, from sender: String?, now: Instant) {
        guard isTheOthers(message, from: sender, now: now) else { return }
        switch message {
        case .hello(let introduction): introduced(introduction, now: now)
        case .end(let reason, let receiver):
            if receiver ?? ownID == ownID { ended(reason, isItsOwn: sender != nil, now: now) }
        case .offer(let sdp):
            if other == nil { other = newcomer(nil, now: now) }
            received(offer: sdp, from: sender, now: now)
        case .answer(let sdp): received(answer: sdp)
        case .skip(let milliseconds):
            // In a room with third members, the server must tell that the other member has sent it.
            guard isConnected, let other, other.isTalking, other.introduction != nil,
                sender != nil || comer == nil && thirds.isEmpty
            else { return }
            outputs.append(.skipSound(.milliseconds(milliseconds)))
        case .candidate(let line): received(candidate: line)
        }
    }

    private mutating func introduced(_ introduction: RoomIntroduction, now: Instant) {
        if comer != nil {
            comer?.introduction = introduction
            return
        }
        if other == nil { other = newcomer(nil, now: now) }
        guard let other, !other.isTalking, thirds.isEmpty else { return }
        // The fingerprint identifies an accepted member from then on.
        guard !self.introduction.asks || introduction.fingerprint != nil else {
            return outputs.append(.ignored("an introduction that names no certificate"))
        }
        let isFirst = other.introduction == nil
        self.other?.introduction = introduction
        guard self.introduction.receives || introduction.receives else {
            refuse(.pointless)
            if isFirst { outputs.append(.pointless) }
            return
        }
        if introduction.asks, isFirst { outputs.append(.waiting) }
        switch other.admission {
        case .unknown, .nameless:
            if introduction.name != nil { return ask() }
            self.other?.admission = .nameless
            if let certificate = introduction.fingerprint { outputs.append(.recognize(certificate)) }
        case .granted, .asked, .refused, .pointless: break
        }
    }

    /// Begins to connect to a member that is let in.
    mutating func admit() {
        other?.admission = .granted
        if let offer = other?.offer.take() {
            change(.offer, sdp: offer)
        } else if wasFirst {
            change(.otherJoined)
        }
    }

    mutating func ask() {
        if let output = other?.ask() { outputs.append(output) }
    }

    /// - Parameter sender: nil if the server does not say.
    mutating func received(offer sdp: String, from sender: String?, now: Instant) {
        guard state.transition(on: .offer) != nil, let other else { return change(.offer, sdp: sdp) }
        switch other.admission {
        case .granted:
            if case .offering = negotiation.stage, wasFirst {
                return outputs.append(.ignored("an offer while this side's own goes before it"))
            }
            if other.isItsOwn(sdp) { return change(.offer, sdp: sdp) }
            guard other.introduction == nil else {
                return outputs.append(.ignored("an offer of another than the one who was let in"))
            }
            // Other programs have another certificate each time. If the sender is unknown, the call goes on for as long as its path stands.
            if other.isTalking, sender == nil {
                if comer == nil { comer = Comer(id: nil, since: now) }
                comer?.offer = sdp
                return
            }
            guard introduction.asks else { return change(.offer, sdp: sdp) }
            if state == .connected { change(.bye) }
            self.other?.offer = sdp
            ask()
        case .nameless where other.isItsOwn(sdp): self.other?.offer = sdp
        case .asked where other.isItsOwn(sdp) && !other.fingerprints.isEmpty: self.other?.offer = sdp
        case .asked where other.fingerprints.isEmpty:
            // From now on it is known which member is let in.
            outputs.append(.askNoMore)
            fallthrough
        case .unknown:
            // One that introduces itself does so before it offers.
            self.other?.offer = sdp
            ask()
        case .nameless, .asked: outputs.append(.ignored("an offer of another than the one who asks"))
        case .refused: outputs.append(.ignored("an offer of one who is not let in"))
        case .pointless: break
        }
    }

    private mutating func received(answer sdp: String) {
        guard case .offering = negotiation.stage else { return outputs.append(.ignored("an answer without an offer")) }
        if other?.isItsOwn(sdp) ?? true { return change(.answer, sdp: sdp) }
        guard other?.introduction == nil else {
            return outputs.append(.ignored("an answer of another than the one who was let in"))
        }
        // Other programs have another certificate each time.
        guard introduction.asks else { return change(.answer, sdp: sdp) }
        change(.bye)
        ask()
    }

    // MARK: - The table

    mutating func full(now: Instant) {
        change(.full)
        if isEnding { return outputs.append(.ended(.left)) }
        guard let seatHeldUntil, now < seatHeldUntil else { return outputs.append(.ended(.full)) }
        retryAt = now + Self.retryInterval
    }

    private mutating func received(candidate line: String) {
        guard state.transition(on: .candidate) != nil || other?.offer != nil else {
            return outputs.append(.ignored("a candidate while nobody is there"))
        }
        guard let remoteFragment = negotiation.remoteFragment else {
            if negotiation.held.count < Self.mostHeld { negotiation.held.append(line) }
            return
        }
        let words = line.split(separator: " ")
        if let place = words.firstIndex(of: "ufrag"), place + 1 < words.endIndex, words[place + 1] != remoteFragment {
            return outputs.append(.ignored("a candidate of an earlier description"))
        }
        // An empty line is the end of candidates.
        if !line.isEmpty { outputs.append(.addCandidate(line: line)) }
    }

    mutating func change(_ event: RoomState.Event, sdp: String = "") {
        guard let (next, actions) = state.transition(on: event) else {
            return outputs.append(.ignored("\(event) while \(state)"))
        }
        let before = state
        state = next
        // Nobody is there, or the other member has begun anew.
        offerAt = nil
        if event == .joined, !before.isInRoom { (wasFirst, seatHeldUntil, retryAt) = (false, nil, nil) }
        for action in actions { perform(action, sdp: sdp) }
    }

    private mutating func perform(_ action: RoomState.Action, sdp: String) {
        switch action {
        case .join: outputs.append(.emit(.join(room: room)))
        case .leave: outputs.append(.emit(.leave(room: room)))
        case .closePeer: closePeer()
        case .offer:
            negotiation.stage = .offering
            outputs.append(.offer)
        case .acceptOffer:
            // A new offer means a new peer.
            if case .none = negotiation.stage {} else { closePeer() }
            negotiation.stage = .answering
            outputs.append(.acceptOffer(sdp: sdp))
            described(by: sdp)
        case .acceptAnswer:
            negotiation.stage = .settled
            outputs.append(.acceptAnswer(sdp: sdp))
            described(by: sdp)
        }
    }

    private mutating func closePeer() {
        negotiation = Negotiation()
        outputs.append(.closePeer)
    }

    /// The other side has described itself. Held candidates belong to that description, or are old.
    private mutating func described(by sdp: String) {
        other?.bind(to: sdp)
        negotiation.remoteFragment = sdp.split(whereSeparator: \.isNewline).first { $0.hasPrefix("a=ice-ufrag:") }
            .map { String($0.dropFirst("a=ice-ufrag:".count)) }
        let held = negotiation.held
        negotiation.held = []
        for line in held { received(candidate: line) }
    }

    mutating func emit(_ message: RoomMessage) {
        outputs.append(.emit(.message(room: room, message.data)))
    }
}
