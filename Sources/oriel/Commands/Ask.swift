import ArgumentParser
import Asking

struct Ask: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Ask who may come in.", shouldDisplay: false)

    @Option(help: "The process group whose terminal it may read.")
    var terminalGroup: Int32?

    func run() throws { try AskingDesk.run(terminalGroup: terminalGroup) }
}
