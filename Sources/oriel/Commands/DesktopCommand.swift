import ArgumentParser
import Desktop

struct DesktopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "desktop",
        abstract: "Do on this desktop what viewers may command.",
        shouldDisplay: false
    )

    func run() throws { try DesktopProcess.run() }
}

struct Hook: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Run a program for messages.", shouldDisplay: false)

    @Option var seconds = 60
    @Argument var program: String

    func run() throws { try MessageHook.serve(program, seconds: seconds) }
}
