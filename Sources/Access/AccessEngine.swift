package import Media
package import Time

/// The rights of participants and their ends, the lobby, and the floor. Sans-IO: after each call perform the result of
/// `takeOutputs`, and call `tick` at `nextDeadline`.
package struct AccessEngine: Sendable {
    package struct Settings: Sendable {
        /// Whether people other than guests have to knock.
        package var asks = false
        /// How long a knock waits for an answer.
        package var patience = Duration.seconds(30)
        /// People who need not knock.
        package var guests: [Guest] = []
        /// Of everybody with the link who is let in, beside that to speak.
        package var rights: Rights = [.watch, .hear]
        package var invites: [Invite] = []
        /// The time that the machine has spent in suspends so far.
        package var asleep = Duration.zero
        package var talk = TalkPolicy.off
        /// The number of voices heard at once, within `Floor.placeLimits`.
        package var speakers = 1
        /// Seconds of everybody's lease, within `Lease.lengths`; nil for none but those that are asked for.
        package var lease: Int?
        package var firstKnock = 1

        package init() {}
    }

    package enum Output: Sendable {
        case tell(AccessEvent)
        case decided(Knock, KnockAnswer)
        /// The end of a participant's time, with its former rights.
        case ended(ParticipantID, Rights, GrantEnd)
        /// To be kept over a crash.
        case changed(Invites.Change)
    }

    /// By which link somebody comes.
    package enum Link: Equatable, Sendable {
        /// That of the broadcast.
        case common
        /// That of an invitation, by its number.
        case invite(Int)
    }

    /// The answer to somebody at a door.
    package enum Entry: Equatable, Sendable {
        /// The name of the guest or of the invitation; empty for others.
        case granted(name: String)
        case mustKnock
        /// The invitation is over.
        case over
        /// The invitation is somebody else's.
        case taken
    }

    /// The rights of a participant.
    struct Bearer: Sendable {
        enum Wish: Equatable, Sendable {
            case none, made
            case refused(at: Instant)
        }

        var grant: Grant
        /// Whether it sends sound that is taken.
        let canSpeak: Bool
        /// Identifies the participant later; nil if nothing does.
        var guest: GuestKey?
        /// Only if it has no right to speak.
        var wish = Wish.none
        /// The time of its last request to speak.
        var askedAt: Instant?
        /// Whether the participant itself has stopped speaking.
        var isClosed = false
        /// When its voice ended last.
        var endedAt: Instant?
        /// Nil if it may stay as long as its grant lasts.
        var lease: Lease?
        /// The number of its invitation; nil if it came by the common link.
        var invite: Int?
        /// Of its commands.
        var commands = RateLimit(interval: .milliseconds(250), slack: .milliseconds(2500), from: .start)
        /// When an invited one is over, unless it asks for something before; nil for others.
        var idleEnd: Instant?

        /// Of its end, or of what is told before.
        var deadline: Instant? { earliest(earliest(grant.until, idleEnd), lease?.deadline) }

        /// Why its time is over now; nil if it is not.
        func end(at now: Instant) -> GrantEnd? {
            if let until = grant.until, now >= until { return .over }
            if let end = earliest(lease?.end, idleEnd), now >= end { return .leaseExpired }
            return nil
        }

        mutating func refuseTalk(at instant: Instant) {
            grant.rights.remove(.talk)
            wish = .refused(at: instant)
        }
    }

    private let asks: Bool
    /// Of everybody with the common link who is let in, beside that to speak.
    let newcomerRights: Rights
    let talk: TalkPolicy
    let leaseSeconds: Int?
    private var lobby: Lobby
    private var guests: Guests
    var invites: Invites
    /// The time that the machine has spent in suspends, as far as is known.
    var asleep: Duration
    var bearers: [ParticipantID: Bearer] = [:]
    var floor: Floor
    /// The keys without the right to speak, and since when; the latest come last.
    var refusals: [(key: GuestKey, at: Instant)] = []
    /// When the first grant or lease may end, or is told to; nil if none does.
    private var firstEnd: Instant?
    private var outputs: [Output] = []

    package init(_ settings: Settings) {
        (asks, newcomerRights, talk) = (settings.asks, settings.rights, settings.talk)
        leaseSeconds = settings.lease
        floor = Floor(places: settings.speakers)
        lobby = Lobby(patience: settings.patience, countingFrom: settings.firstKnock)
        guests = Guests(settings.guests)
        (invites, asleep) = (Invites(settings.invites), settings.asleep)
        firstEnd = guests.firstEnd
        // One that is over is due at once.
        note(deadline: invites.firstEnd.map { $0 - asleep })
    }

    package var nextDeadline: Instant? { earliest(lobby.nextDeadline, earliest(floor.nextDeadline, firstEnd)) }

    package mutating func tick(now: Instant) {
        for knock in lobby.takeOverdue(now: now) { note(.noAnswer, to: knock) }
        noteSilence(of: floor.release(at: now), at: now)
        if let firstEnd, now >= firstEnd { endGrants(at: now) }
    }

    private mutating func endGrants(at now: Instant) {
        _ = guests.remove { guest in guest.until.map { now >= $0 } ?? false }
        endInvites(at: now)
        for (id, bearer) in bearers.sorted(by: { $0.key < $1.key }) {
            if let reason = bearer.end(at: now) { end(id, reason, at: now) }
        }
        warnOfEnds(at: now)
        let first = earliest(guests.firstEnd, bearers.values.compactMap(\.deadline).min())
        firstEnd = earliest(first, invites.firstEnd.map { $0 - asleep })
    }

    /// Takes all rights from a participant, which is to go.
    mutating func end(_ id: ParticipantID, _ reason: GrantEnd, at now: Instant) {
        guard let bearer = bearers[id] else { return }
        leaveFloor(id, at: now)
        bearers[id]?.grant = Grant(rights: [])
        bearers[id]?.lease = nil
        bearers[id]?.idleEnd = nil
        bearers[id]?.wish = .refused(at: now)
        outputs.append(.ended(id, bearer.grant.rights, reason))
    }

    mutating func note(deadline: Instant?) { firstEnd = earliest(firstEnd, deadline) }

    /// The outputs since the last call, in order.
    package mutating func takeOutputs() -> [Output] {
        outputs += invites.takeChanges().map(Output.changed)
        return exchange(&outputs, with: [])
    }

    // MARK: - Doors

    /// - Parameter key: of the browser; nil for a program that cannot be recognized.
    package func entry(_ key: GuestKey?, by link: Link = .common) -> Entry {
        // A guest with an invitation need not knock.
        if case .invite(let number) = link { return entry(key, byInvite: number) }
        if !asks { return .granted(name: "") }
        return guests[key].map { .granted(name: $0.name) } ?? .mustKnock
    }

    /// The knocks that wait, in order.
    package var waiting: [Knock] { lobby.waiting }

    /// Adds a knock. A second one with the same key replaces the first.
    ///
    /// - Returns: nil if too many wait.
    package mutating func knock(_ knocker: Knocker, now: Instant) -> Knock? {
        let (made, replaced) = lobby.knock(knocker, now: now)
        if let replaced { note(.cancelled, to: replaced) }
        if let made {
            tell(.knocked(made))
        } else if lobby.toldRefusals.take(from: knocker.address, now: now) == 1 {
            tell(.turnedAway(address: knocker.address, call: knocker.call))
        }
        return made
    }

    /// - Returns: the knock that waited; nil if there is none of this number.
    @discardableResult
    package mutating func answer(_ number: Int, _ answer: KnockAnswer) -> Knock? {
        guard let knock = lobby.remove(number) else { return nil }
        note(answer, to: knock)
        return knock
    }

    /// Ends all knocks.
    package mutating func closeLobby() {
        for knock in waiting { answer(knock.number, .cancelled) }
    }

    private mutating func note(_ answer: KnockAnswer, to knock: Knock) {
        if answer == .accepted, let key = knock.key { guests.letIn(Guest(key: key, name: knock.name)) }
        tell(.answered(knock, answer))
        outputs.append(.decided(knock, answer))
    }

    mutating func tell(_ event: AccessEvent) { outputs.append(.tell(event)) }

    // MARK: - Participants

    /// Adds a participant that has come or was recognized. A refusal to speak survives coming again.
    ///
    /// - Parameter canSpeak: whether it sends sound that is taken.
    package mutating func begin(
        _ id: ParticipantID,
        canSpeak: Bool = true,
        guest key: GuestKey? = nil,
        by link: Link = .common
    ) {
        if bearers[id] == nil {
            let rights = rights(by: link)
            let canSpeak = canSpeak && rights.contains(.talk)
            // An invitation answers the question whether somebody may speak.
            let isLet = talk == .on || talk == .ask && link != .common
            let grant = Grant(rights: isLet && canSpeak ? rights : rights.subtracting(.talk))
            bearers[id] = Bearer(grant: grant, canSpeak: canSpeak)
        }
        if case .invite(let number) = link { bearers[id]?.invite = number }
        guard let key else { return }
        bearers[id]?.guest = key
        bearers[id]?.grant.until = guests[key]?.until
        note(deadline: guests[key]?.until)
        if let refusal = refusals.last(where: { $0.key == key }) { bearers[id]?.refuseTalk(at: refusal.at) }
    }

    package mutating func end(_ id: ParticipantID, at now: Instant) {
        leaveFloor(id, at: now)
        bearers[id] = nil
    }

    /// All with this key, in all calls.
    func participants(of key: GuestKey) -> [ParticipantID] {
        bearers.filter { $0.value.guest == key }.keys.sorted()
    }

    /// Removes the guest that a participant is. It has to knock the next time.
    ///
    /// - Returns: the guest, and the participants that go: this one and all others with its key; none if it has left.
    package mutating func sendAway(_ id: ParticipantID) -> (guest: Guest?, participants: [ParticipantID]) {
        guard let bearer = bearers[id] else { return (nil, []) }
        guard let key = bearer.guest else { return (nil, [id]) }
        return (forget { $0.key == key }.first, participants(of: key))
    }

    // MARK: - Guests

    package func guest(_ key: GuestKey?) -> Guest? { guests[key] }

    /// Removes guests. They have to knock the next time.
    ///
    /// - Returns: the removed guests: first those let in here, then those of the list, each in order.
    @discardableResult
    package mutating func forget(where isMeant: (Guest) -> Bool) -> [Guest] { guests.remove(where: isMeant) }
}
