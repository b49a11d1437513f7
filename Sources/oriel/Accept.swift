import ArgumentParser
import FrameBridge
import Sender

struct Accept: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Let in a viewer who asks to look in.",
        discussion: "\"oriel status\" lists those who ask, where a broadcast is shared with --accept ask."
    )

    @OptionGroup var knock: KnockChoice

    func run() throws { try knock.ask { .accept(knock: $0) } }
}

struct Reject: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Do not let in a viewer who asks to look in.",
        discussion: "The viewer's page says so. \"oriel status\" lists those who ask."
    )

    @OptionGroup var knock: KnockChoice

    func run() throws { try knock.ask { .reject(knock: $0) } }
}

/// One who asks to look in.
struct KnockChoice: ParsableArguments {
    @Argument(help: ArgumentHelp("Number of the one who asks.", valueName: "id"))
    var number: Int

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    /// Asks the sender at which this one waits.
    func ask(_ request: (Int) -> SenderRequest) throws {
        let senders = Senders(of: try broadcast.directory())
        let pid =
            try choice.pid
            ?? senders.holder(of: "viewer number \(number)", who: "asks to look in") { status in
                status.knocks?.contains { $0.id == number } ?? false
            }
        try senders.ask(pid, for: request(number))
    }
}
