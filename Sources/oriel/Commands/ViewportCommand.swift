import ArgumentParser
import Control
import FrameBridge

struct ViewportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "viewport",
        abstract: "Show a part of the source to all viewers, or all of it again.",
        discussion: "Nothing is started anew, and the picture keeps its size."
    )

    @Argument(
        help: ArgumentHelp(
            "Left, upper, right and lower edge in pixels of the source, at least 64 by 36; or \"off\".",
            valueName: "x1,y1,x2,y2|off"
        ),
        transform: { try ShownPart(parsing: $0) }
    )
    var part: ShownPart

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    func run() throws {
        try Senders(of: broadcast.directory()).ask(choice.pid, for: .command(.viewport(part.viewport)))
    }
}

/// A part of the source, as people write it.
struct ShownPart {
    /// Nil for the whole.
    let viewport: Viewport?

    init(parsing text: String) throws(ValidationError) {
        if text == "off" {
            viewport = nil
            return
        }
        let edges = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
        guard !edges.contains(nil), let viewport = Viewport(edges.compactMap(\.self)) else {
            throw ValidationError("a part is X1,Y1,X2,Y2 in pixels of the source, at least 64 by 36, or off.")
        }
        self.viewport = viewport
    }
}
