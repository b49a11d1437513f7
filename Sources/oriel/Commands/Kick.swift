import Access
import ArgumentParser
import Control
import FrameBridge
import Media

struct Kick: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send away a viewer, or the other member of a room.",
        discussion: """
            The viewer's page says so, and does not come back by itself. It can be opened again with the link. With --accept ask or \
            known the viewer has to knock then, even if it was accepted with "always". The other member of a room is told, and gets \
            nothing until it joins again. "oriel status" lists the viewers with their numbers.
            """
    )

    @Argument(help: ArgumentHelp("Number of the viewer.", valueName: "id"))
    var viewer: ParticipantID

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
            try GuestStore().forget { "\($0.key)" == visitor.key }
        }
    }
}

extension ParticipantID: ExpressibleByArgument {
    init?(argument: String) {
        guard let number = Int(argument) else { return nil }
        self.init(number)
    }
}
