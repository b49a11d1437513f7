import ArgumentParser
import Control
import FrameBridge
import Media

struct Talk: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Allow a viewer, or the other member of a room, to speak, or forbid it.",
        discussion: """
            For senders that were started with --talkback ask or on. "on" lasts until the viewer leaves. After "off" nothing that it \
            said is heard any more. Requests to speak are shown on standard error and by "oriel status", which also lists the \
            viewers with their numbers.
            """
    )

    enum Choice: String, ExpressibleByArgument, CaseIterable { case on, off }

    @Argument(help: ArgumentHelp("Number of the viewer.", valueName: "id"))
    var viewer: ParticipantID

    @Argument(help: ArgumentHelp("Whether it may speak.", valueName: "on|off"))
    var choice: Choice

    @OptionGroup var sender: SenderOfSomebody

    func run() throws { try sender.ask(for: .talk(viewer: viewer, isOn: choice == .on), of: viewer) }
}
