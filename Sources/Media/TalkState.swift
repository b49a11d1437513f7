package import Time

/// What a peer may say.
package enum TalkState: String, Codable, Sendable {
    /// No peer of the sender is heard, or this one cannot be, as it sends no sound.
    case off
    /// It may not speak, and does not ask to.
    case none
    /// It waits until somebody lets it speak.
    case asked
    case granted
    /// It is heard.
    case speaking
}

/// What becomes of a peer's wish to speak.
package enum TalkAnswer: Equatable, Sendable {
    case granted
    /// Somebody has to decide.
    case asked
    /// Somebody has said no, and may not be asked again yet.
    case refused(until: Instant)
    /// It asks too often.
    case tooOften(until: Instant)
}

/// Who of a sender's peers may speak.
package enum TalkPolicy: String, Sendable, CaseIterable {
    case off
    /// Each of whom somebody says so.
    case ask
    /// All, but those of whom somebody says otherwise.
    case on
}
