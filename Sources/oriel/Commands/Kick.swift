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

    @OptionGroup var sender: SenderOfSomebody

    func run() throws {
        if let visitor = try sender.ask(for: .kick(viewer: viewer), of: viewer) {
            try GuestStore().forget { "\($0.key)" == visitor.key }
        }
    }
}
