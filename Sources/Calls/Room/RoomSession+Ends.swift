import Time

/// The end of a call with the other member.
extension RoomSession {
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

    /// Sends the other member the reason why there is no call, if it is Oriel.
    mutating func say(_ reason: EndReason) {
        if let other, other.introduction != nil { emit(.end(reason, to: namesSenders ? other.id : nil)) }
    }

    /// The other member does not want the call, or no longer.
    ///
    /// - Parameter isItsOwn: whether the server says that the message is the other member's.
    mutating func ended(_ reason: EndReason, isItsOwn: Bool, now: Instant) {
        let isTalking = other?.isTalking ?? false, wasTalking = isTalking || other?.parting != nil
        switch reason {
        case .hungUp where isTalking && !isItsOwn, .kicked where isTalking && !isItsOwn:
            // Anybody in the room may have sent it. If it is true, the path ends.
            other?.farewell = (reason, now + Self.farewellTime)
        case .hungUp:
            // Any of several members may have sent it. The server will name the one that leaves.
            guard isItsOwn || comer == nil && thirds.isEmpty else { return }
            if wasTalking { part(.hungUp) }
            refuse()
        case .kicked where wasTalking || !wasFirst: dismiss(reason)
        case .rejected, .noAnswer, .busy:
            guard !isTalking else { return outputs.append(.ignored("a refusal in a call that stands")) }
            guard wasFirst else { return dismiss(reason) }
            // It has come to this side, and may go.
            refuse()
            outputs.append(.parted(reason, why: nil))
        case .kicked, .lost, .ended, .leaseExpired, .revoked, .noRelay, .failed: break
        }
    }

    /// The path to the other member has ended, or it is gone. Returns whether a reason had come before.
    mutating func takeFarewell(now: Instant) -> Bool {
        guard let farewell = other?.farewell.take(), now < farewell.until else { return false }
        ended(farewell.reason, isItsOwn: true, now: now)
        return true
    }

    /// Leaves at the other member's wish.
    private mutating func dismiss(_ reason: EndReason) {
        change(.leave)
        forgetOther()
        outputs.append(.ended(.dismissed(reason)))
    }
}
