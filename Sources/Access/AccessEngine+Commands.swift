package import Media
package import Time

/// Commands of participants about what all see.
extension AccessEngine {
    package enum CommandAnswer: Equatable, Sendable {
        case granted
        case noRight
        case tooOften(until: Instant)
    }

    /// Counts a command. Ten may come at once, and then four a second.
    package mutating func command(by id: ParticipantID, at now: Instant) -> CommandAnswer {
        guard var bearer = bearers[id], bearer.grant.rights.contains(.controls) else { return .noRight }
        guard now >= bearer.commands.earliest else { return .tooOften(until: bearer.commands.earliest) }
        bearer.commands.note(at: now)
        bearers[id] = bearer
        return .granted
    }
}
