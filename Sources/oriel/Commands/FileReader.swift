import ArgumentParser
import Helpers

struct FileReader: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Read files whenever asked.",
        shouldDisplay: false
    )

    @Argument var paths: [String]

    func run() throws { try FileReading.run(paths) }
}
