import Access
import Calls
import Control
import Media
import Posix
import Time

/// What commands ask about links with rights of their own.
extension SenderCommands {
    /// Seconds for which an invitation holds.
    static let inviteLengths = 10...366 * 86_400

    /// - Parameters:
    ///   - token: the SHA-256 of the link's token.
    ///   - rights: their names.
    ///   - seconds: nil for as long as the sender is there.
    func invite(_ token: String, _ name: String, _ rights: [String], for seconds: Int?, isForOne: Bool) -> SenderReply {
        guard !status.links.isEmpty else { return .refused(reason: "this sender serves no pages: attach \"web\"") }
        guard access.needsToken else {
            return .refused(reason: "everybody may look in here: start it without --token none")
        }
        guard let token = TokenHash(rawValue: token), seconds.map({ Self.inviteLengths ~= $0 }) ?? true else {
            return .refused(reason: "the invitation makes no sense")
        }
        guard let wanted = Rights(names: rights) else {
            return .refused(reason: "rights are \(Rights.allNames.joined(separator: ", "))")
        }
        if !wanted.contains(.watch) {
            return .refused(reason: "an invitation without the right to watch shows nothing")
        }
        if wanted.contains(.talk), access.talk == .off {
            return .refused(reason: "no viewer is heard here: start it with --talkback ask")
        }
        if wanted.contains(.record), !access.read({ $0.rights(by: .common).contains(.record) }) {
            return .refused(reason: "no viewer may record here: start it with --viewers-record")
        }
        var wish = InviteWish(token: token)
        (wish.name, wish.rights, wish.length, wish.isForOne) = (name, wanted, seconds.map { .seconds($0) }, isForOne)
        let asleep = MonotonicClock.suspendedTime()
        let refusal = access.change { [wish] engine, now -> InviteRefusal? in
            do throws(InviteRefusal) { _ = try engine.invite(wish, asleep: asleep, at: now) } catch { return error }
            return nil
        }
        return refusal.map { .refused(reason: "\($0)") } ?? .done()
    }

    /// - Parameter invite: a number or a name; nil for all.
    func revoke(_ invite: String?) -> SenderReply {
        let number = invite.flatMap { Int($0) }
        let ended = access.change { engine, now in
            engine.revoke(at: now) { known in
                invite == nil || known.number == number || !known.name.isEmpty && known.name == invite
            }
        }
        if let invite, ended.isEmpty {
            return .refused(reason: "there is no invitation \(invite): see \"oriel invites\"")
        }
        return .done()
    }

    /// Nil if there are none.
    func invites(at now: Instant) -> [SenderSnapshot.Invite]? {
        let invites = access.read { engine in
            let invited = engine.invited
            return engine.listedInvites.map { invite in
                SenderSnapshot.Invite(
                    id: invite.number,
                    name: invite.name,
                    rights: invite.rights.names,
                    leftS: engine.time(left: invite, at: now).map { milliseconds($0) / 1000 },
                    taken: invite.isForOne ? invite.holder != .nobody : nil,
                    viewers: invited[invite.number] ?? []
                )
            }
        }
        return invites.isEmpty ? nil : invites
    }
}
