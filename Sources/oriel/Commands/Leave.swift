import ArgumentParser
import Calls
import Control
import FrameBridge

struct Leave: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Leave calls; their sender goes on with its others, and ends with the last one.",
        discussion:
            "\"oriel status\" lists the calls. The call \"web\" cannot be left: \"oriel kick\" sends viewers away."
    )

    @Argument(help: ArgumentHelp("The call, as \"oriel status\" names it; several may be given.", valueName: "call"))
    var calls: [String]

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    func run() throws {
        let senders = Senders(of: try broadcast.directory())
        for text in calls {
            let call = try? CallPlan(parsing: text)
            // Of a name with a secret in it, people are told the beginning.
            let name = call.map { "\($0)" } ?? text
            let pid = try choice.pid ?? senders.holder(ofCall: name, isTold: call != nil)
            try senders.ask(pid, for: .leave(call: call?.argument ?? text))
        }
    }
}
