import Access
import ArgumentParser
import Configuration

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

    @Flag(help: "Viewers may begin clips and replays of recorders that run, and change what makes a clip.")
    var viewersRecord = false

    @Flag(help: "Viewers may command: choose the picture for all, point at something, and send messages to you.")
    var viewersControl = false

    @Flag(help: "Viewers see the names of all who look in.")
    var viewersSeeNames = false

    @Option(
        help: ArgumentHelp(
            "How long a viewer may stay without asking for more time, 10 s to 65535 s. Its page asks as long as somebody looks.",
            valueName: "5m"
        )
    )
    var lease: TimeSpan?

    func validate() throws {
        try require("--answer-timeout", answerTimeout, in: 1...3600)
        // A page asks once a second.
        if let lease { try require("--lease", lease.seconds, in: 10...Lease.lengths.upperBound) }
    }
}
