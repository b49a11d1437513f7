package import Media

/// An event of access for people and programs.
package enum AccessEvent: Sendable {
    package enum Talk: Equatable, Sendable {
        case asked, granted
        /// The participant is not heard any more, or will not be, by somebody's decision.
        case revoked
        /// The participant is heard. It is news after a minute of silence.
        case started(isNews: Bool)
        case ended
    }

    case knocked(Knock)
    case answered(Knock, KnockAnswer)
    /// A knock was refused without a question, as too many wait; reported once a minute for each network.
    case turnedAway(address: String, call: String)
    case talk(ParticipantID, Talk)
    /// A participant has to go soon, unless it asks for more time.
    case leaseEnding(ParticipantID)

    /// For people; nil for events of participants, as their names are not known here.
    package var sentence: String? {
        switch self {
        case .knocked(let knock):
            "\(knock.who) asks to look in: \"oriel accept \(knock.number)\" or \"oriel reject \(knock.number)\""
        case .answered(let knock, .accepted): "\(knock.who) is let in"
        case .answered(let knock, .rejected): "\(knock.who) is not let in"
        case .answered(let knock, .noAnswer): "\(knock.who) got no answer"
        case .answered(let knock, .cancelled): "\(knock.who) waits no more"
        case .turnedAway(let address, _): "somebody from \(address) was turned away: too many wait for an answer"
        case .talk, .leaseEnding: nil
        }
    }
}
