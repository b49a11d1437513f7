import ArgumentParser
import FrameBridge
import Sender

struct Kick: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a viewer away.",
        discussion: """
            The viewer's page says so, and does not come back by itself; whoever has the link can open it again. "oriel \
            status" lists the viewers with their numbers.
            """
    )

    @Argument(help: ArgumentHelp("Number of the viewer.", valueName: "id"))
    var viewer: Int

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    func run() throws {
        let directory = try broadcast.directory()
        let senders = Senders(of: directory)
        try senders.ask(try choice.pid ?? holder(among: senders, in: directory.path), for: .kick(viewer: viewer))
    }

    /// The sender that has the viewer. Each sender numbers its own viewers.
    private func holder(among senders: Senders, in path: String) throws -> Int32 {
        let reports = senders.reports()
        guard !reports.isEmpty else { throw senders.nobodyToAsk() }
        let holders = reports.filter { _, report in
            (try? report.get())?.viewers.contains { $0.id == viewer } ?? false
        }
        if holders.count > 1 {
            let pids = holders.map { "\($0.pid)" }.joined(separator: " or ")
            throw Failure(.failed, "several senders have a viewer \(viewer): say which by --sender \(pids)")
        }
        if let holder = holders.first { return holder.pid }
        for (_, report) in reports { _ = try report.get() }
        throw Failure(.failed, "no viewer \(viewer) looks in at \(path): \"oriel status\" tells who does")
    }
}
