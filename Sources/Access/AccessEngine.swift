package import Time

/// Who may come in, and who waits for it. Sans-IO: after each call perform what `takeOutputs` returns, and call `tick` when
/// `nextDeadline` comes.
package struct AccessEngine: Sendable {
    package struct Settings: Sendable {
        /// Whether those who are no guests have to knock.
        package var asks = false
        /// How long a knock waits for an answer.
        package var patience = Duration.seconds(30)
        /// Those who need not knock.
        package var guests: [Guest] = []
        /// The number of the first knock.
        package var firstKnock = 1

        package init() {}
    }

    package enum Output: Sendable {
        case tell(AccessEvent)
        /// Whoever made this knock goes on.
        case decided(Knock, KnockAnswer)
    }

    /// What becomes of somebody at a door.
    package enum Entry: Equatable, Sendable {
        /// The name is that of a guest; empty for others.
        case granted(name: String)
        case mustKnock
    }

    private let asks: Bool
    private var lobby: Lobby
    private var guests: Guests
    private var outputs: [Output] = []

    package init(_ settings: Settings) {
        asks = settings.asks
        lobby = Lobby(patience: settings.patience, countingFrom: settings.firstKnock)
        guests = Guests(settings.guests)
    }

    package var nextDeadline: Instant? { lobby.nextDeadline }

    package mutating func tick(now: Instant) {
        for knock in lobby.takeOverdue(now: now) { note(.noAnswer, to: knock) }
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
            outputs.append(.tell(.knocked(made)))
        } else if lobby.isToldRefusal(of: knocker.address, now: now) {
            outputs.append(.tell(.turnedAway(address: knocker.address, call: knocker.call)))
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
        outputs += [.tell(.answered(knock, answer)), .decided(knock, answer)]
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
