import ArgumentParser
import Control
import FrameBridge
import X11Capture

struct Source: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Show something else in a running broadcast: a monitor, a window, a region or the whole screen.",
        discussion: "Viewers stay connected."
    )

    @Argument(help: ArgumentHelp("A source of --allow-source by its name, or the next one.", valueName: "next|name"))
    var named: String?

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SourceChoice
    @OptionGroup var sender: SenderChoice

    func validate() throws {
        if named != nil, !choice.isEmpty {
            throw ValidationError("a name excludes --monitor, --region and --window.")
        }
    }

    func run() throws {
        // Nobody drags anything in vain.
        if choice.pick, case let directory = try broadcast.directory(), try !directory.hasWriter() {
            throw BridgeError.noBroadcast(path: directory.path)
        }
        guard let named else { return try CaptureControl.ask(broadcast, for: .show(choice.source().words)) }
        try sender.perform(.source(named), of: broadcast) { $0.source != nil }
    }
}
