package import Media
import Time

/// Whoever decides which viewers may speak.
package struct TalkDesk: Sendable {
    let identify: @Sendable (ParticipantID, String) -> Void
    let ask: @Sendable (ParticipantID) -> TalkAnswer
    let withdraw: @Sendable (ParticipantID) -> Void
    let state: @Sendable (ParticipantID) -> TalkState

    /// - Parameters:
    ///   - identify: takes the key of a viewer that has come, as text.
    ///   - ask: takes a viewer's wish to speak.
    ///   - withdraw: hears that a viewer does not want to any more.
    ///   - state: what a viewer may say.
    package init(
        identify: @escaping @Sendable (ParticipantID, String) -> Void,
        ask: @escaping @Sendable (ParticipantID) -> TalkAnswer,
        withdraw: @escaping @Sendable (ParticipantID) -> Void,
        state: @escaping @Sendable (ParticipantID) -> TalkState
    ) {
        (self.identify, self.ask, self.withdraw, self.state) = (identify, ask, withdraw, state)
    }
}

/// What became of a viewer's wish to speak, or not to.
enum TalkOutcome: Sendable {
    case state(TalkState)
    /// No viewer is heard here.
    case off
    /// The session's offer does not send sound.
    case cannotSpeak
    /// In so many seconds it may ask again.
    case refused(seconds: Int)
    case tooOften(seconds: Int)
    case unknownViewer

    init(_ answer: TalkAnswer, at now: Instant) {
        func seconds(until instant: Instant) -> Int { Int(max(instant - now, .zero).components.seconds) + 1 }
        self =
            switch answer {
            case .granted: .state(.granted)
            case .asked: .state(.asked)
            case .refused(let until): .refused(seconds: seconds(until: until))
            case .tooOften(let until): .tooOften(seconds: seconds(until: until))
            }
    }
}
