import ArgumentParser
import Control
import Media

/// Which sender of a broadcast a command is for.
struct SenderChoice: ParsableArguments {
    @Option(
        name: .customLong("sender"),
        help: ArgumentHelp("Process of the sender, where several are attached.", valueName: "pid")
    )
    var pid: Int32?
}

/// The sender that has somebody: the chosen one, or else the only one that does.
struct SenderOfSomebody: ParsableArguments {
    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    /// Asks for something. Somebody is described as for `Senders.holder`.
    @discardableResult
    func ask(
        for request: SenderRequest,
        of somebody: String,
        who does: String,
        where has: (SenderSnapshot) -> Bool
    ) throws -> Visitor? {
        let senders = Senders(of: try broadcast.directory())
        return try senders.ask(choice.pid ?? senders.holder(of: somebody, who: does, where: has), for: request)
    }

    @discardableResult
    func ask(for request: SenderRequest, of viewer: ParticipantID) throws -> Visitor? {
        try ask(for: request, of: "viewer \(viewer)", who: "looks in") { status in
            status.viewers.contains { $0.id == viewer }
        }
    }
}

extension ParticipantID: ExpressibleByArgument {}
