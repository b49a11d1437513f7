import ArgumentParser
import FrameBridge
import X11Capture

struct Source: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Show something else in a broadcast that is under way: a monitor, a window, a region or the whole screen.",
        discussion: "Whoever watches goes on watching; nothing is started anew."
    )

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SourceChoice

    func run() throws { try CaptureControl.ask(broadcast, for: .show(choice.source().words)) }
}
