package import Media
package import Time

/// Who may do what, and until when; who waits to come in, and who is heard. Sans-IO: after each call perform what `takeOutputs` returns,
/// and call `tick` when `nextDeadline` comes.
package struct AccessEngine: Sendable {
    package struct Settings: Sendable {
        /// Whether those who are no guests have to knock.
        package var asks = false
        /// How long a knock waits for an answer.
        package var patience = Duration.seconds(30)
        /// Those who need not knock.
        package var guests: [Guest] = []
        /// Who may speak.
        package var talk = TalkPolicy.off
        /// How many are heard at once, within `Floor.placeLimits`.
        package var speakers = 1
        /// The number of the first knock.
        package var firstKnock = 1

        package init() {}
    }

    package enum Output: Sendable {
        case tell(AccessEvent)
        /// Whoever made this knock goes on.
        case decided(Knock, KnockAnswer)
        /// The time has come until which a participant had these rights.
        case ended(ParticipantID, Rights)
    }

    /// What becomes of somebody at a door.
    package enum Entry: Equatable, Sendable {
        /// The name is that of a guest; empty for others.
        case granted(name: String)
        case mustKnock
    }

    /// A participant, as far as its rights go.
    struct Bearer: Sendable {
        /// To speak.
        enum Wish: Equatable, Sendable {
            case none, made
            case refused(at: Instant)
        }

        var grant: Grant
        /// By what it is recognized later; nil for nothing.
        var guest: GuestKey?
        /// Where it has no right to speak.
        var wish = Wish.none
        /// When it asked to speak last, by a request.
        var askedAt: Instant?
        /// Whether it says itself that it does not speak, whatever comes.
        var isClosed = false
        /// When it was heard last.
        var endedAt: Instant?

        mutating func refuseTalk(at instant: Instant) {
            grant.rights.remove(.talk)
            wish = .refused(at: instant)
        }
    }

    private let asks: Bool
    let talk: TalkPolicy
    private var lobby: Lobby
    private var guests: Guests
    var bearers: [ParticipantID: Bearer] = [:]
    var floor: Floor
    /// The keys of those who may not speak, and since when; the latest come last.
    var refusals: [(key: GuestKey, at: Instant)] = []
    /// When the first grant may end; nil if none does.
    private var firstEnd: Instant?
    private var outputs: [Output] = []

    package init(_ settings: Settings) {
        (asks, talk) = (settings.asks, settings.talk)
        floor = Floor(places: settings.speakers)
        lobby = Lobby(patience: settings.patience, countingFrom: settings.firstKnock)
        guests = Guests(settings.guests)
        firstEnd = guests.firstEnd
    }

    package var nextDeadline: Instant? { earliest(lobby.nextDeadline, earliest(floor.nextDeadline, firstEnd)) }

    package mutating func tick(now: Instant) {
        for knock in lobby.takeOverdue(now: now) { note(.noAnswer, to: knock) }
        noteSilence(of: floor.release(at: now), at: now)
        if let firstEnd, now >= firstEnd { endGrants(at: now) }
    }

    private mutating func endGrants(at now: Instant) {
        func isOver(_ until: Instant?) -> Bool { until.map { now >= $0 } ?? false }
        _ = guests.remove { isOver($0.until) }
        for (id, bearer) in bearers.sorted(by: { $0.key < $1.key }) where isOver(bearer.grant.until) {
            leaveFloor(id, at: now)
            bearers[id]?.grant = Grant(rights: [])
            bearers[id]?.wish = .refused(at: now)
            outputs.append(.ended(id, bearer.grant.rights))
        }
        firstEnd = earliest(guests.firstEnd, bearers.values.compactMap(\.grant.until).min())
    }

    /// What is to be done since the last call, in order.
    package mutating func takeOutputs() -> [Output] {
        defer { outputs = [] }
        return outputs
    }

    // MARK: - Doors

    package func entry(_ key: GuestKey?) -> Entry {
        if !asks { return .granted(name: "") }
        return guests[key].map { .granted(name: $0.name) } ?? .mustKnock
    }

    /// Those who knock, in order.
    package var waiting: [Knock] { lobby.waiting }

    /// Has somebody wait. One that knocks again takes the place of its first knock.
    ///
    /// - Returns: nil if too many wait.
    package mutating func knock(_ knocker: Knocker, now: Instant) -> Knock? {
        let (made, replaced) = lobby.knock(knocker, now: now)
        if let replaced { note(.cancelled, to: replaced) }
        if let made {
            tell(.knocked(made))
        } else if lobby.isToldRefusal(of: knocker.address, now: now) {
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

    /// Has nobody wait any more.
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

    /// A participant has come, or is recognized. One that may not speak does not get around that by coming anew.
    package mutating func begin(_ id: ParticipantID, guest key: GuestKey? = nil) {
        if bearers[id] == nil { bearers[id] = Bearer(grant: Grant(rights: talk == .on ? [.watch, .talk] : .watch)) }
        guard let key else { return }
        bearers[id]?.guest = key
        bearers[id]?.grant.until = guests[key]?.until
        firstEnd = earliest(firstEnd, guests[key]?.until)
        if let refusal = refusals.last(where: { $0.key == key }) { bearers[id]?.refuseTalk(at: refusal.at) }
    }

    /// A participant has gone.
    package mutating func end(_ id: ParticipantID, at now: Instant) {
        leaveFloor(id, at: now)
        bearers[id] = nil
    }

    // MARK: - Guests

    /// The one of this key, if it need not knock.
    package func guest(_ key: GuestKey?) -> Guest? { guests[key] }

    /// Has guests knock when they come again.
    ///
    /// - Returns: those who were guests: first those let in here, then those of the list, each in order.
    @discardableResult
    package mutating func forget(where isMeant: (Guest) -> Bool) -> [Guest] { guests.remove(where: isMeant) }
}
