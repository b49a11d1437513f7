package import Media
package import Time

/// Links with rights of their own, and their ends.
extension AccessEngine {
    /// After so long without a request, an invited participant has gone.
    static let longestIdleness = Duration.seconds(7200)

    package var listedInvites: [Invite] { invites.listed }

    /// The rights that a link gives; none once it is over. Those with the common link may speak where somebody lets them.
    package func rights(by link: Link) -> Rights {
        switch link {
        case .common: newcomerRights.union(.talk)
        case .invite(let number): invites[number]?.rights ?? []
        }
    }

    func entry(_ key: GuestKey?, byInvite number: Int) -> Entry {
        guard let invite = invites[number] else { return .over }
        return invites.admits(key, by: number) ? .granted(name: invite.name) : .taken
    }

    /// The seconds for which an invitation goes on; nil without an end.
    package func time(left invite: Invite, at now: Instant) -> Duration? {
        invite.end.map { max(.zero, $0 - asleep - now) }
    }

    /// The participants that came by invitations, by the numbers of these, each in order.
    package var invited: [Int: [ParticipantID]] {
        var invited: [Int: [ParticipantID]] = [:]
        for (id, bearer) in bearers.sorted(by: { $0.key < $1.key }) {
            if let number = bearer.invite { invited[number, default: []].append(id) }
        }
        return invited
    }

    /// - Parameter asleep: the time that the machine has spent in suspends so far.
    package mutating func invite(
        _ wish: InviteWish,
        asleep: Duration = .zero,
        at now: Instant
    ) throws(InviteRefusal) -> Invite {
        noteSleep(asleep)
        let invite = try invites.make(wish, at: now + self.asleep)
        note(deadline: invite.end.map { $0 - self.asleep })
        return invite
    }

    /// Ends invitations, and the time of all who came by them.
    ///
    /// - Returns: the ended ones, in order.
    @discardableResult
    package mutating func revoke(at now: Instant, where isMeant: (Invite) -> Bool) -> [Invite] {
        let ended = invites.end(where: isMeant)
        endParticipants(of: ended, at: now)
        return ended
    }

    mutating func endInvites(at now: Instant) { endParticipants(of: invites.endOverdue(at: now + asleep), at: now) }

    private mutating func endParticipants(of ended: [Invite], at now: Instant) {
        if ended.isEmpty { return }
        let invited = invited
        for invite in ended {
            for id in invited[invite.number] ?? [] { end(id, .revoked, at: now) }
        }
    }

    /// Gives a link for one person to somebody who comes.
    ///
    /// - Returns: whether it was nobody's before: then `confirm` it once that one is let in, or `release` it.
    package mutating func claim(_ link: Link, for key: GuestKey?) -> Bool {
        if case .invite(let number) = link { invites.claim(number, for: key) } else { false }
    }

    package mutating func confirm(_ link: Link) {
        if case .invite(let number) = link { invites.confirm(number) }
    }

    package mutating func release(_ link: Link) {
        if case .invite(let number) = link { invites.release(number) }
    }

    /// A participant has asked for something, so it is there.
    package mutating func noteRequest(of id: ParticipantID, at now: Instant) {
        guard bearers[id]?.invite != nil else { return }
        bearers[id]?.idleEnd = now + Self.longestIdleness
        note(deadline: bearers[id]?.idleEnd)
    }
}
