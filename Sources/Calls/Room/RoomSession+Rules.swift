import Time

/// Who the other member is, and whether it is let in.
extension RoomSession {
    // MARK: - Coming and going

    mutating func came(_ id: String, now: Instant) {
        guard let other, other.isTalking, state == .connected else { return meet(id, now: now) }
        comer = Comer(id: id, since: now)
    }

    /// Another member has come.
    mutating func meet(_ id: String, _ introduction: RoomIntroduction? = nil, now: Instant) {
        guard state.transition(on: .otherJoined) != nil else { return change(.otherJoined) }
        if other?.isTalking ?? false { part(.lost) }
        forgetOther()
        wasFirst = true
        other = newcomer(id, now: now)
        emit(.hello(self.introduction))
        if let introduction { introduced(introduction, now: now) }
        switch other?.admission {
        case .granted?: change(.otherJoined)
        default: if state == .connected { change(.bye) }
        }
    }

    /// A member has gone.
    mutating func went(_ id: String, now: Instant) {
        if let comer, comer.id == id { return self.comer = nil }
        if let index = thirds.firstIndex(of: id) {
            thirds.remove(at: index)
            return
        }
        change(.bye)
        let comer = comer
        if let other {
            if let parting = other.parting { part(parting.reason, parting.why) }
            // Other programs do not say goodbye.
            if other.isTalking { other.introduction == nil ? part(.hungUp, "has left") : part(.lost) }
        }
        forgetOther()
        if let comer { meet(comer.id, comer.introduction, now: now) }
    }

    /// Decides who it is that has come.
    mutating func judge(_ comer: Comer, now: Instant) {
        self.comer = nil
        guard comer.isThird else { return meet(comer.id, comer.introduction, now: now) }
        if thirds.count < Self.mostThirds { thirds.append(comer.id) }
        emit(.end(.busy, to: comer.id))
        outputs.append(.turnedAway)
    }

    private func newcomer(_ id: String?, now: Instant) -> OtherMember {
        OtherMember(id: id, introduction.asks ? .unknown(until: now + Self.introductionTime) : .granted)
    }

    mutating func forgetOther() {
        if case .asked? = other?.admission { outputs.append(.askNoMore) }
        (other, comer) = (nil, nil)
    }

    /// The call with the other member is over.
    mutating func part(_ reason: EndReason, _ why: String? = nil) {
        other?.part()
        outputs.append(.parted(reason, why: why))
    }

    /// Has nothing to do with the other member until another one comes.
    mutating func refuse(_ admission: OtherMember.Admission = .refused) {
        if case .asked? = other?.admission { outputs.append(.askNoMore) }
        other?.admission = admission
        other?.offer = nil
        other?.part()
        offerAt = nil
        if state == .connected { change(.bye) }
    }

    /// Tells the other member, if it is one that understands, why there is no call.
    mutating func say(_ reason: EndReason) {
        if other?.introduction != nil { emit(.end(reason, to: nil)) }
    }

    // MARK: - What the other member says

    mutating func received(_ message: RoomMessage, now: Instant) {
        switch message {
        case .hello(let introduction): introduced(introduction, now: now)
        case .end(let reason, let receiver): if receiver ?? ownID == ownID { ended(reason) }
        case .offer(let sdp):
            if other == nil { other = newcomer(nil, now: now) }
            received(offer: sdp)
        case .answer(let sdp):
            guard case .offering = negotiation else { return outputs.append(.ignored("an answer without an offer")) }
            guard other?.isItsOwn(sdp) ?? true else {
                return outputs.append(.ignored("an answer of another than the one who was let in"))
            }
            change(.answer, sdp: sdp)
        case .candidate(let line, let mid, let index): received(line, mid, index)
        }
    }

    private mutating func introduced(_ introduction: RoomIntroduction, now: Instant) {
        if comer != nil {
            comer?.introduction = introduction
            return
        }
        if other == nil { other = newcomer(nil, now: now) }
        guard let other, !other.isTalking, thirds.isEmpty else { return }
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

    /// Begins with one who is let in.
    mutating func admit() {
        other?.admission = .granted
        if let offer = other?.offer.take() { received(offer: offer) } else if wasFirst { change(.otherJoined) }
    }

    mutating func ask() {
        if let output = other?.ask() { outputs.append(output) }
    }

    mutating func received(offer sdp: String) {
        guard state.transition(on: .offer) != nil, let other else { return change(.offer, sdp: sdp) }
        switch other.admission {
        case .granted:
            if case .offering = negotiation, wasFirst {
                return outputs.append(.ignored("an offer while this side's own goes before it"))
            }
            if other.isItsOwn(sdp) { return change(.offer, sdp: sdp) }
            guard other.introduction == nil else {
                return outputs.append(.ignored("an offer of another than the one who was let in"))
            }
            // Other programs have another certificate each time.
            if state == .connected { change(.bye) }
            self.other?.offer = sdp
            ask()
        case .unknown:
            // One that introduces itself does so before it offers.
            self.other?.offer = sdp
            ask()
        case .nameless, .asked: self.other?.offer = sdp
        case .refused: outputs.append(.ignored("an offer of one who is not let in"))
        case .pointless: break
        }
    }

    /// The other member does not want the call, or not any more.
    private mutating func ended(_ reason: EndReason) {
        let isTalking = other?.isTalking ?? false || other?.parting != nil
        switch reason {
        case .hungUp:
            // Whoever of several has said it, its going is told.
            guard comer == nil, thirds.isEmpty else { return }
            if isTalking { part(.hungUp) }
            refuse()
        case .kicked where isTalking || !wasFirst: dismiss(reason)
        case .rejected, .noAnswer, .busy:
            guard wasFirst else { return dismiss(reason) }
            // It has come to this side, and may go.
            refuse()
            outputs.append(.parted(reason, why: nil))
        case .kicked, .lost, .ended, .failed: break
        }
    }

    /// Leaves at the other member's wish.
    private mutating func dismiss(_ reason: EndReason) {
        change(.leave)
        forgetOther()
        outputs.append(.ended(.dismissed(reason)))
    }

    // MARK: - The table

    mutating func full(now: Instant) {
        change(.full)
        if isEnding { return outputs.append(.ended(.left)) }
        guard let seatHeldUntil, now < seatHeldUntil else { return outputs.append(.ended(.full)) }
        retryAt = now + Self.retryInterval
    }

    private mutating func received(_ line: String, _ mid: String?, _ index: Int?) {
        guard state.transition(on: .candidate) != nil || other?.offer != nil else {
            return outputs.append(.ignored("a candidate while nobody is there"))
        }
        guard let remoteFragment else {
            if held.count < Self.mostHeld { held.append((line, mid, index)) }
            return
        }
        let words = line.split(separator: " ")
        if let place = words.firstIndex(of: "ufrag"), place + 1 < words.endIndex, words[place + 1] != remoteFragment {
            return outputs.append(.ignored("a candidate of an earlier description"))
        }
        // An empty line is the end of candidates.
        if !line.isEmpty { outputs.append(.addCandidate(line: line, mid: mid, index: index)) }
    }

    mutating func change(_ event: RoomState.Event, sdp: String = "") {
        guard let (next, actions) = state.transition(on: event) else {
            return outputs.append(.ignored("\(event) while \(state)"))
        }
        let before = state
        state = next
        // Nobody is there, or whoever is has begun anew.
        offerAt = nil
        if event == .joined, !before.isInRoom { (wasFirst, seatHeldUntil, retryAt) = (false, nil, nil) }
        for action in actions { perform(action, sdp: sdp) }
    }

    private mutating func perform(_ action: RoomState.Action, sdp: String) {
        switch action {
        case .join: outputs.append(.emit(.join(room: room)))
        case .leave: outputs.append(.emit(.leave(room: room)))
        case .openPeer: outputs.append(.openPeer)
        case .closePeer: closePeer()
        case .offer:
            negotiation = .offering
            outputs.append(.offer)
        case .acceptOffer:
            // A new offer is a new peer: whatever was agreed before is over.
            if case .none = negotiation {
            } else {
                closePeer()
                outputs.append(.openPeer)
            }
            negotiation = .answering
            outputs.append(.acceptOffer(sdp: sdp))
            described(by: sdp)
        case .acceptAnswer:
            negotiation = .settled
            outputs.append(.acceptAnswer(sdp: sdp))
            described(by: sdp)
        case .addCandidate: break
        }
    }

    private mutating func closePeer() {
        (negotiation, remoteFragment, held) = (.none, nil, [])
        outputs.append(.closePeer)
    }

    /// The other side has described itself: what was held belongs to that, or is old.
    private mutating func described(by sdp: String) {
        remoteFragment = sdp.split(whereSeparator: \.isNewline).first { $0.hasPrefix("a=ice-ufrag:") }
            .map { String($0.dropFirst("a=ice-ufrag:".count)) }
        let candidates = held
        held = []
        for candidate in candidates { received(candidate.line, candidate.mid, candidate.index) }
    }

    mutating func emit(_ message: RoomMessage) {
        outputs.append(.emit(.message(room: room, message.data)))
    }
}
