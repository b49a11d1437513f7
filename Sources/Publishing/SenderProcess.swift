import Calls
package import Configuration
import Helpers
import Posix
import Sender

extension SenderProcessSettings {
    /// Runs it until a signal comes, or until the broadcast or all calls have ended.
    package func run() throws {
        if try publish() == .broadcastStopped { Console.note("the broadcast has ended") }
    }

    /// - Returns: nil when a signal came before it could begin.
    private func publish() throws -> SenderLoop.End? {
        let calls = try calls.map { try CallKinds.own.plan($0) }
        let signals = try TerminationSignals()
        var ends = Ends()
        guard let endowment = try Endowment(self, for: calls, &ends, until: signals) else { return nil }
        try enterSandbox(by: endowment.sandbox.enter)
        var publisher = try Publisher(endowment, &ends)
        return try publisher.run(until: signals)
    }
}
