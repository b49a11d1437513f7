import ArgumentParser
import Control
import FrameBridge
import Media

struct StatusFrameCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status-frame",
        abstract: "Draw a frame on the screen around what is shared.",
        discussion: """
            "auto" draws it while somebody watches. It lies outside of what is shared where there is room, and in the picture \
            elsewhere, as with the whole screen.
            """
    )

    @Argument(help: ArgumentHelp("How bright it is.", valueName: "off|low|medium|high|auto"))
    var frame: StatusFrame

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    func run() throws { try choice.perform(.statusFrame(frame), of: broadcast) { $0.statusFrame != nil } }
}
