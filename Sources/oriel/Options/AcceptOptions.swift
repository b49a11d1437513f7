import Access
import ArgumentParser
import Configuration
import Helpers
import Publishing

extension AcceptPolicy: ExpressibleByArgument {}

struct AcceptOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Viewers let in without asking: \"all\", none (\"ask\": each one waits for your answer), or those accepted before with "
                + "\"always\" (\"known\").",
            valueName: "all|ask|known"
        )
    )
    var accept = AccessSettings().accept

    @Option(help: ArgumentHelp("How long a viewer that knocks waits for an answer, 1 to 3600 s.", valueName: "seconds"))
    var answerTimeout = AccessSettings().answerTimeout

    func validate() throws { try require("--answer-timeout", answerTimeout, in: 1...3600) }
}

extension AccessSettings {
    /// Who need not knock, and how long the others wait. If the file of those who are known is damaged, that is told, and there are none.
    ///
    /// - Parameter number: of the first knock.
    func engine(countingFrom number: Int) -> AccessEngine.Settings {
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
            return try GuestStore().load().map { Guest(key: $0.key, name: $0.name) }
        } catch {
            Console.note(Failure(describing: error)?.sentence ?? "\(error)")
            return []
        }
    }
}
