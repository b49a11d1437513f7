import Access
import ArgumentParser
import Control
import FrameBridge
import Helpers

struct Accept: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Let in a viewer that asks.",
        discussion: "\"oriel status\" lists those who ask, where a broadcast is shared with --accept ask or known."
    )

    @Flag(help: "Let that viewer in without asking from now on, in later broadcasts too, where --accept is known.")
    var always = false

    @OptionGroup var knock: KnockChoice

    func run() throws {
        let visitor = try knock.ask { .accept(knock: $0) }
        guard always else { return }
        guard let visitor, let key = GuestKey(rawValue: visitor.key) else {
            throw Failure(
                .failed,
                "\(knock.number) is let in this once only: a player cannot be recognized later"
            )
        }
        try GuestStore().remember(key, name: visitor.name)
    }
}

struct Reject: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Turn away a viewer that asks.",
        discussion: "The viewer's page says so. \"oriel status\" lists those who ask."
    )

    @OptionGroup var knock: KnockChoice

    func run() throws { try knock.ask { .reject(knock: $0) } }
}

/// A viewer that knocks, and its sender.
struct KnockChoice: ParsableArguments {
    @Argument(help: ArgumentHelp("Number of the one who asks.", valueName: "id"))
    var number: Int

    @OptionGroup var sender: SenderOfSomebody

    /// Sends a request to the sender at which the viewer waits. Returns the viewer, if it can be recognized later.
    @discardableResult
    func ask(_ request: (Int) -> SenderRequest) throws -> Visitor? {
        try sender.ask(for: request(number), of: "viewer number \(number)", who: "asks to look in") { status in
            status.knocks?.contains { $0.id == number } ?? false
        }
    }
}
