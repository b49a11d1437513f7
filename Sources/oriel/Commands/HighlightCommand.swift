import ArgumentParser
import Control
import FrameBridge

struct HighlightCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "highlight",
        abstract: "Draw a ring on the screen around a part of what is shared, for a moment."
    )

    @Argument(
        help: ArgumentHelp(
            "Left edge, upper edge, width and height in pixels of the source, and 100 to 10000 ms if not 1500.",
            valueName: "x,y,w,h[,ms]"
        ),
        transform: { try Highlight(parsing: $0) }
    )
    var ring: Highlight

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    func run() throws { try choice.perform(.highlight(ring), of: broadcast) { $0.highlight != nil } }
}

extension Highlight {
    fileprivate init(parsing text: String) throws(ValidationError) {
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
        guard !numbers.contains(nil), let ring = Highlight(numbers.compactMap(\.self)) else {
            throw ValidationError("a ring is X,Y,W,H in pixels of the source, and perhaps 100 to 10000 milliseconds.")
        }
        self = ring
    }
}
