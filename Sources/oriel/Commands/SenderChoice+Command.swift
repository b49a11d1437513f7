import Control
import FrameBridge

extension SenderChoice {
    /// Has a sender do what viewers with the right may command, too.
    ///
    /// - Parameter isKnown: whether a sender with some capabilities can do it.
    func perform(
        _ command: ViewerCommand,
        of broadcast: BroadcastOptions,
        where isKnown: (Capabilities.Commands) -> Bool = { _ in true }
    ) throws {
        let senders = Senders(of: try broadcast.directory())
        let reports = pid == nil ? senders.reports() : []
        let able = reports.first { $0.report?.capabilities.map { isKnown($0.commands) } ?? false }
        try senders.ask(pid ?? able?.pid ?? senders.only(), for: .command(command))
    }
}
