package import Media

/// What people and programs are told of access.
package enum AccessEvent: Sendable {
    package enum Talk: Equatable, Sendable {
        case asked, granted
        /// It is not heard any more, or is not going to be, as somebody says so.
        case revoked
        /// It is heard. It is news if it has not been for a minute.
        case started(isNews: Bool)
        case ended
    }

    case knocked(Knock)
    case answered(Knock, KnockAnswer)
    /// Nobody is asked about somebody, as too many wait; told once a minute for each network.
    case turnedAway(address: String, call: String)
    case talk(ParticipantID, Talk)

    /// For people; nil of speech, as the names of those who are there are not known here.
    package var sentence: String? {
        switch self {
        case .knocked(let knock):
            "\(knock.who) asks to look in: \"oriel accept \(knock.number)\" or \"oriel reject \(knock.number)\""
        case .answered(let knock, .accepted): "\(knock.who) is let in"
        case .answered(let knock, .rejected): "\(knock.who) is not let in"
        case .answered(let knock, .noAnswer): "\(knock.who) got no answer"
        case .answered(let knock, .cancelled): "\(knock.who) waits no more"
        case .turnedAway(let address, _): "somebody from \(address) was turned away: too many wait for an answer"
        case .talk: nil
        }
    }
}
