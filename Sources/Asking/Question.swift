import Access
import Control

/// What a sender tells the process that asks a person who may come in: a line of JSON each.
enum Question: Codable, Sendable, Equatable {
    case knocked(Knock)
    /// A knock needs no answer any more, whoever gave it.
    case answered(id: Int, isAccepted: Bool)

    struct Knock: Codable, Sendable, Equatable {
        let id: Int
        let name: String
        let note: String
        let address: String
        /// As a `GuestKey`; absent for one who cannot be known again.
        let key: String?

        /// For people. A sender may say anything.
        var who: String {
            func short(_ text: String) -> String { String(text.prefix(200)) }
            return Access.Knock.who(name: short(name), note: short(note), address: short(address))
        }
    }

    /// Nil for what asks nobody anything.
    init?(_ event: AccessEvent) {
        switch event {
        case .knocked(let knock):
            self = .knocked(
                Knock(
                    id: knock.number,
                    name: knock.name,
                    note: knock.note,
                    address: knock.address,
                    key: knock.key?.description
                )
            )
        case .answered(let knock, let answer): self = .answered(id: knock.number, isAccepted: answer == .accepted)
        case .turnedAway, .talk, .leaseEnding: return nil
        }
    }
}

extension [Question] {
    /// Adds a question that the process which asks has not taken yet. There are no more than knocks wait: one that is answered before it was
    /// told is told neither.
    mutating func addUntold(_ question: Question) {
        guard case .answered(let id, _) = question,
            let index = firstIndex(where: { if case .knocked(let knock) = $0 { knock.id == id } else { false } })
        else { return append(question) }
        remove(at: index)
    }
}

/// What a person says to a knock.
enum Verdict: Equatable {
    case accept, reject
    /// Let in, and have it known from now on.
    case acceptAlways
}
