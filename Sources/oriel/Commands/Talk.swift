import ArgumentParser
import FrameBridge
import Sender

struct Talk: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Let a viewer, or the other member of a room, speak, or no more.",
        discussion: """
            For senders that were started with --talkback ask or on. Who may speak is heard at the speakers here, as soon as its \
            microphone is open, until it leaves or this takes that back; nothing that it said is heard any more then. Whoever asks \
            to speak is told of on standard error, and by "oriel status", which also lists the viewers with their numbers.
            """
    )

    enum Choice: String, ExpressibleByArgument, CaseIterable { case on, off }

    @Argument(help: ArgumentHelp("Number of the viewer.", valueName: "id"))
    var viewer: Int

    @Argument(help: ArgumentHelp("Whether it may speak.", valueName: "on|off"))
    var choice: Choice

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var sender: SenderChoice

    func run() throws {
        let senders = Senders(of: try broadcast.directory())
        let pid =
            try sender.pid
            ?? senders.holder(of: "viewer \(viewer)", who: "looks in") { status in
                status.viewers.contains { $0.id == viewer }
            }
        _ = try senders.ask(pid, for: .talk(viewer: viewer, isOn: choice == .on))
    }
}
