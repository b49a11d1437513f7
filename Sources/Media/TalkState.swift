package import Time

/// A peer's right to speak.
package enum TalkState: String, Codable, Sendable {
    /// No peer of the sender is heard, or this one sends no sound.
    case off
    /// It may not speak, and does not ask to.
    case none
    /// It waits for an answer.
    case asked
    case granted
    /// It is heard.
    case speaking
}

/// The answer to a peer's wish to speak.
package enum TalkAnswer: Equatable, Sendable {
    case granted
    /// A person has to decide.
    case asked
    /// A person has refused, and may not be asked again yet.
    case refused(until: Instant)
    case tooOften(until: Instant)
}

/// The peers of a sender that may speak.
package enum TalkPolicy: String, Sendable, CaseIterable {
    case off
    /// Those that a person lets speak.
    case ask
    /// All, except those that a person refuses.
    case on
}
