import Access
import ArgumentParser

/// Who is let into a call.
enum AcceptPolicy: String, ExpressibleByArgument, CaseIterable {
    /// Everybody who finds it.
    case all
    /// Viewers that a person accepts.
    case ask
    /// Known viewers, and others that a person accepts.
    case known
}

/// The options about who is let into the calls of a sender.
struct AcceptOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Viewers let in without asking: \"all\", none (\"ask\": each one waits for your answer), or those accepted before with "
                + "\"always\" (\"known\").",
            valueName: "all|ask|known"
        )
    )
    var accept = AcceptPolicy.all

    @Option(help: ArgumentHelp("How long a viewer that knocks waits for an answer, 1 to 3600 s.", valueName: "seconds"))
    var answerTimeout = 30

    func validate() throws {
        guard 1...3600 ~= answerTimeout else {
            throw ValidationError("--answer-timeout \(answerTimeout) is out of range: give 1 to 3600.")
        }
    }

    /// Who need not knock, and how long the others wait. If the file of those who are known is damaged, that is told, and there are none.
    ///
    /// - Parameter number: of the first knock.
    func settings(countingFrom number: Int) -> AccessEngine.Settings {
        var settings = AccessEngine.Settings()
        settings.asks = accept != .all
        settings.patience = .seconds(answerTimeout)
        settings.guests = guests()
        settings.firstKnock = number
        return settings
    }

    private func guests() -> [Guest] {
        guard accept == .known else { return [] }
        do {
            return try KnownVisitors().load().map { Guest(key: $0.key, name: $0.name) }
        } catch {
            Console.note(Failure(describing: error)?.sentence ?? "\(error)")
            return []
        }
    }

    /// The same options for a child process.
    var arguments: [String] { ["--accept=\(accept.rawValue)", "--answer-timeout=\(answerTimeout)"] }
}
