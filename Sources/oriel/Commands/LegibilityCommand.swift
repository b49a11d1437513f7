import ArgumentParser
import Control
import FrameBridge
import Media

struct LegibilityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "legibility",
        abstract: "Brighten dark pictures for all viewers.",
        discussion: "\"auto\" leaves pictures alone that are bright, or have something bright in them."
    )

    @Argument(help: ArgumentHelp("Whether pictures are brightened.", valueName: "off|on|auto"))
    var legibility: Legibility

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    func run() throws {
        try Senders(of: broadcast.directory()).ask(choice.pid, for: .command(.legibility(legibility)))
    }
}
