import ArgumentParser
import Control
import Helpers

struct Replay: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write the last time of a broadcast into a file.",
        discussion:
            "A recorder must run that keeps it: \"oriel record --replay 60s\". The path of the file goes to standard output."
    )

    @Argument(help: ArgumentHelp("Time to write; all that is kept if not given.", valueName: "seconds"))
    var time: TimeSpan?

    @OptionGroup var broadcast: BroadcastOptions

    func validate() throws { if let time { try require("a replay of", time.seconds, in: 1...3600) } }

    func run() throws {
        let recorders = try Recorders(of: try broadcast.directory()).ask(for: .replay(seconds: time?.seconds))
        Console.print(recorders.compactMap(\.lastPath))
    }
}
