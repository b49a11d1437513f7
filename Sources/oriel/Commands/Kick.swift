import ArgumentParser
import FrameBridge
import Sender

struct Kick: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send away a viewer, or the other member of a room.",
        discussion: """
            The viewer's page says so, and does not come back by itself; whoever has the link can open it again, or, with \
            --accept ask or known, knock again, also if it was let in for good. The other member of a room is told so, and sent nothing \
            until it comes anew. "oriel status" lists the viewers with their numbers.
            """
    )

    @Argument(help: ArgumentHelp("Number of the viewer.", valueName: "id"))
    var viewer: Int

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    func run() throws {
        let senders = Senders(of: try broadcast.directory())
        let pid =
            try choice.pid
            ?? senders.holder(of: "viewer \(viewer)", who: "looks in") { status in
                status.viewers.contains { $0.id == viewer }
            }
        if let visitor = try senders.ask(pid, for: .kick(viewer: viewer)) {
            try KnownVisitors().remove { $0.key == visitor.key }
        }
    }
}
