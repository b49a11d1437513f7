import Time

/// The invitations of a sender. Sans-IO: the journal gets the changes.
package struct Invites: Sendable {
    /// A change, to be kept over a crash.
    package enum Change: Equatable, Sendable {
        case made(Invite)
        case claimed(Int, Invite.Holder)
        case ended(Invite)
    }

    static let most = 2000
    /// Of one sender: the journal only grows while it runs.
    static let mostMade = 10_000

    private(set) var all: [Int: Invite] = [:]
    private var tokens: Set<TokenHash> = []
    private var lastNumber = 0
    private var made = 0
    private var changes: [Change] = []

    /// - Parameter kept: from the journal; the first of two with one number counts.
    init(_ kept: [Invite] = []) {
        for invite in kept.prefix(Self.most) where all[invite.number] == nil {
            all[invite.number] = invite
            tokens.insert(invite.token)
            lastNumber = max(lastNumber, invite.number)
        }
    }

    subscript(_ number: Int) -> Invite? { all[number] }

    var listed: [Invite] { all.values.sorted { $0.number < $1.number } }

    /// The first end, by the clock that counts suspends.
    var firstEnd: Instant? { all.values.compactMap(\.end).min() }

    mutating func takeChanges() -> [Change] { exchange(&changes, with: []) }

    /// - Parameter now: by the clock that counts suspends.
    mutating func make(_ wish: InviteWish, at now: Instant) throws(InviteRefusal) -> Invite {
        guard all.count < Self.most else { throw .full(Self.most) }
        guard made < Self.mostMade else { throw .spent(Self.mostMade) }
        let name = Lobby.line(wish.name, Lobby.longestName)
        let isNameTaken = !name.isEmpty && all.values.contains { $0.name == name }
        guard !isNameTaken, tokens.insert(wish.token).inserted else { throw .taken(name) }
        lastNumber += 1
        made += 1
        let invite = Invite(
            number: lastNumber,
            name: name,
            token: wish.token,
            rights: wish.rights,
            end: wish.length.map { now + $0 },
            holder: wish.isForOne ? .nobody : .anybody
        )
        all[invite.number] = invite
        changes.append(.made(invite))
        return invite
    }

    /// Whether somebody may come by an invitation. The first one who comes by a link for one person gets it.
    ///
    /// - Parameter key: of its browser; nil for a program that cannot be recognized.
    func admits(_ key: GuestKey?, by number: Int) -> Bool {
        switch all[number]?.holder {
        case .anybody, .nobody: true
        case .browser(let holder): key == holder
        case .unknown, nil: false
        }
    }

    /// Gives a link for one person to somebody who comes. That is kept over a crash once it is confirmed: offers that fail must not fill
    /// the journal.
    ///
    /// - Returns: whether it is that one's now, and was nobody's before.
    mutating func claim(_ number: Int, for key: GuestKey?) -> Bool {
        guard let invite = all[number], invite.holder == .nobody else { return false }
        all[number]?.holder = key.map { .browser($0) } ?? .unknown
        return true
    }

    /// The one with a link for one person has come in.
    mutating func confirm(_ number: Int) {
        if let invite = all[number], invite.isForOne { changes.append(.claimed(number, invite.holder)) }
    }

    /// Gives it back, as nobody came in.
    mutating func release(_ number: Int) {
        guard all[number]?.isForOne ?? false else { return }
        all[number]?.holder = .nobody
    }

    /// - Returns: the ended ones, in order.
    mutating func end(where isMeant: (Invite) -> Bool) -> [Invite] {
        let ended = listed.filter(isMeant)
        for invite in ended {
            all[invite.number] = nil
            tokens.remove(invite.token)
            changes.append(.ended(invite))
        }
        return ended
    }

    mutating func endOverdue(at now: Instant) -> [Invite] {
        guard let firstEnd, now >= firstEnd else { return [] }
        return end { invite in invite.end.map { now >= $0 } ?? false }
    }
}
