import ArgumentParser
import Calls
import Time

/// Who is let into a call.
enum AcceptPolicy: String, ExpressibleByArgument, CaseIterable {
    /// Everybody who finds it.
    case all
    /// Whom somebody lets in.
    case ask
}

/// Who is let into the calls of a sender, where others ask for that.
struct AcceptOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Who is let in: all who have the link or are in the room, or ask: each knocks, with a name and a note, and waits for \"oriel accept\" or "
                + "\"oriel reject\". Who was let in comes back without asking, until it is kicked or the sender ends.",
            valueName: "all|ask"
        )
    )
    var accept = AcceptPolicy.all

    @Option(help: ArgumentHelp("How long who knocks waits for an answer, 1 to 3600 s.", valueName: "seconds"))
    var answerTimeout = 30

    func validate() throws {
        guard 1...3600 ~= answerTimeout else {
            throw ValidationError("--answer-timeout \(answerTimeout) is out of range: give 1 to 3600.")
        }
    }

    /// Where those who knock wait; nil where all are let in.
    func lobby(_ transport: CallTransport, _ events: EventLog) -> Lobby? {
        guard accept == .ask else { return nil }
        return Lobby(patience: .seconds(answerTimeout), schedule: transport.schedule) { events.tell(CallEvent($0)) }
    }

    /// The same options for a child process.
    var arguments: [String] { ["--accept=\(accept.rawValue)", "--answer-timeout=\(answerTimeout)"] }
}
