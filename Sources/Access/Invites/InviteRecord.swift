import JSON
package import Time

/// The clocks by which the end of an invitation is kept over a crash and a restart of the machine.
package struct InviteClocks: Sendable {
    /// The machine's present boot.
    package var boot: String
    /// By the clock that counts suspends, and begins with the boot.
    package var now: Instant
    /// Nanoseconds since 1970. It may be set.
    package var date: UInt64

    package init(boot: String, now: Instant, date: UInt64) { (self.boot, self.now, self.date) = (boot, now, date) }
}

/// A line of the journal: a change of a sender's invitations.
enum InviteRecord: Codable, Equatable {
    struct Made: Codable, Equatable {
        struct End: Codable, Equatable {
            let boot: String
            /// Nanoseconds of that boot, suspends included.
            let nanoseconds: UInt64
            /// Nanoseconds since 1970: after another boot, this counts.
            let date: UInt64
            /// Nanoseconds from the making on: no clock that was set makes it longer.
            let length: UInt64
        }

        let number: Int
        let name: String
        let token: TokenHash
        let rights: [String]
        let isForOne: Bool
        /// Nil for as long as the sender is there.
        let end: End?
    }

    case made(invite: Made)
    /// Without a key, the link is used up.
    case claimed(number: Int, key: GuestKey?)
    case ended(number: Int)

    init(_ change: Invites.Change, _ clocks: InviteClocks) {
        self =
            switch change {
            case .made(let invite): .made(invite: Made(invite, clocks))
            case .claimed(let number, .browser(let key)): .claimed(number: number, key: key)
            case .claimed(let number, _): .claimed(number: number, key: nil)
            case .ended(let invite): .ended(number: invite.number)
            }
    }

    // MARK: - Reading

    /// Numbers in a file: the next ones can be counted up.
    private static let numbers = 1...1_000_000_000
    /// Lines that are read: an invitation has three at the most.
    static let mostLines = 3 * (Invites.most + Invites.mostMade)

    /// The invitations that lines of a journal leave. The lines may be torn, or come from a sender that was taken over.
    ///
    /// - Parameter goesOn: whether the sender of the journal goes on. Otherwise those without an end are over.
    /// - Returns: the invitations in order, and the number of lines that make no sense.
    static func invites(in text: String, _ clocks: InviteClocks, goesOn: Bool) -> (invites: [Invite], ignored: Int) {
        var invites: [Int: Invite] = [:]
        var tokens: Set<TokenHash> = []
        let lines = text.split(whereSeparator: \.isNewline)
        var ignored = max(0, lines.count - mostLines)
        for line in lines.prefix(mostLines) {
            switch try? InviteRecord(jsonLine: String(line)) {
            case .made(let made)?:
                guard numbers ~= made.number, invites[made.number] == nil, !tokens.contains(made.token),
                    let rights = Rights(names: made.rights), rights.contains(.watch)
                else {
                    ignored += 1
                    continue
                }
                tokens.insert(made.token)
                invites[made.number] = Invite(made, rights, clocks)
            case .claimed(let number, let key)?: invites[number]?.take(key.map { .browser($0) } ?? .unknown)
            case .ended(let number)?: invites[number] = nil
            case nil: ignored += 1
            }
        }
        let kept = invites.values.filter { invite in invite.end.map { $0 > clocks.now } ?? goesOn }
        return (Array(kept.sorted { $0.number < $1.number }.prefix(Invites.most)), ignored)
    }

    /// The records that stand for an invitation.
    static func records(of invite: Invite, _ clocks: InviteClocks) -> [InviteRecord] {
        [.made(invite: Made(invite, clocks))]
            + (invite.holder == .anybody || invite.holder == .nobody
                ? [] : [InviteRecord(.claimed(invite.number, invite.holder), clocks)])
    }
}

extension InviteRecord.Made {
    fileprivate init(_ invite: Invite, _ clocks: InviteClocks) {
        (number, name, token) = (invite.number, invite.name, invite.token)
        (rights, isForOne) = (invite.rights.names, invite.isForOne)
        end = invite.end.map { end in
            let length = UInt64(clamping: max(.zero, end - clocks.now).nanoseconds)
            return End(
                boot: clocks.boot,
                nanoseconds: end.nanoseconds,
                date: clocks.date.addingReportingOverflow(length).partialValue,
                length: length
            )
        }
    }
}

extension Invite {
    fileprivate init(_ made: InviteRecord.Made, _ rights: Rights, _ clocks: InviteClocks) {
        let end = made.end.map { end in
            if !end.boot.isEmpty, end.boot == clocks.boot { return Instant(nanoseconds: end.nanoseconds) }
            let left = end.date > clocks.date ? min(end.date - clocks.date, end.length) : 0
            return clocks.now + .nanoseconds(Int64(clamping: left))
        }
        self.init(
            number: made.number,
            name: Lobby.line(made.name, Lobby.longestName),
            token: made.token,
            rights: rights,
            end: end,
            holder: made.isForOne ? .nobody : .anybody
        )
    }

    /// Only a link for one person has a holder.
    fileprivate mutating func take(_ holder: Holder) { if isForOne { self.holder = holder } }
}
