import Time

/// The sender of each message, if the server tells it. In a room with more than two seats, a third member gets all messages, and may send any.
extension RoomSession {
    /// Whether a message is of the other member, and not of a third one.
    mutating func isTheOthers(_ message: RoomMessage, from sender: String?, now: Instant) -> Bool {
        guard let sender else { return true }
        guard let id = other?.id else {
            switch message {
            case .hello, .offer: if other == nil { other = newcomer(sender, now: now) } else { other?.id = sender }
            case .answer, .candidate, .end, .skip: break
            }
            return true
        }
        if id == sender { return true }
        switch message {
        case .hello(let introduction) where comer?.id == sender: comer?.introduction = introduction
        case .hello, .offer:
            guard case .none = negotiation.stage, other?.givesWay ?? false else { break }
            forgetOther()
            other = newcomer(sender, now: now)
            return true
        case .answer, .candidate, .end, .skip: break
        }
        return false
    }
}
