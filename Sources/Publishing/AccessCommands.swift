import Access
import Calls
import Control
import Media
import Peers
import Sender
import Talk

/// What commands ask about people and their rights.
extension SenderCommands {
    func answer(_ knock: Int, _ answer: KnockAnswer) -> SenderReply {
        guard access.asks else {
            return .refused(reason: "the sender lets in everybody: start it with --accept ask")
        }
        guard let knock = access.change({ engine, _ in engine.answer(knock, answer) }) else {
            return .refused(reason: "nobody waits with the number \(knock)")
        }
        return .done(visitor: knock.key.map { Visitor(Guest(key: $0, name: knock.name)) })
    }

    /// Has guests knock when they come again.
    ///
    /// - Parameter name: nil for all.
    func forget(_ name: String?) -> SenderReply {
        let forgotten = access.change { engine, _ in engine.forget { name == nil || $0.name == name } }
        return .done(visitor: forgotten.first.map { Visitor($0) })
    }

    /// Sends a participant away, which has to knock when it comes again.
    func kick(_ id: ParticipantID) -> SenderReply {
        guard let participant = calls.participants[id] else { return .refused(reason: "no viewer \(id) looks in") }
        guard participant.kick != nil else {
            let call = participant.call
            return .refused(reason: "\(id) is the server of \(call): leave that with \"oriel leave \(call)\"")
        }
        return .done(visitor: calls.participants.kick(id, by: access).map { Visitor($0) })
    }

    func talk(_ id: ParticipantID, isOn: Bool) -> SenderReply {
        guard let talk else { return .refused(reason: "no viewer is heard here: start it with --talkback ask") }
        guard calls.participants[id] != nil else { return .refused(reason: "no viewer \(id) looks in") }
        guard access.read({ $0.talkState(of: id) }) != .off else {
            return .refused(reason: "viewer \(id) sends no sound")
        }
        let isThere = isOn ? access.change { engine, _ in engine.grantTalk(id) } : talk.revoke(id)
        return isThere ? .done() : .refused(reason: "viewer \(id) has just left")
    }

    /// The event as people and programs are told it.
    func callEvent(_ event: AccessEvent) -> CallEvent {
        let id: ParticipantID
        switch event {
        case .talk(let someone, _), .leaseEnding(let someone): id = someone
        case .knocked, .answered, .turnedAway: return CallEvent(event)
        }
        let participant = calls.participants[id]
        return CallEvent(event, in: participant?.call, name: participant?.name ?? "")
    }
}

extension Visitor {
    fileprivate init(_ guest: Guest) { self.init(key: "\(guest.key)", name: guest.name) }
}
