import ArgumentParser
import FrameBridge
import X11Capture

struct Source: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Show something else in a running broadcast: a monitor, a window, a region or the whole screen.",
        discussion: "Viewers stay connected."
    )

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SourceChoice

    func run() throws { try CaptureControl.ask(broadcast, for: .show(choice.source().words)) }
}
