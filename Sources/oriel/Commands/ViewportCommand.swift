import ArgumentParser
import Control
import FrameBridge
import Helpers
import Pixels

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
    var part: ShownPart?

    @Flag(help: "Drag the part on the screen; Escape gives up.")
    var pick = false

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    func validate() throws {
        if (part != nil) == pick { throw ValidationError("give a part, off, or --pick.") }
    }

    func run() throws {
        let directory = try broadcast.directory()
        let viewport = try part.map(\.viewport) ?? Self.pick(in: directory)
        try Senders(of: directory).ask(choice.pid, for: .command(.viewport(viewport)))
    }

    /// A part of what is shared, in its pixels.
    private static func pick(in directory: BridgeDirectory) throws -> Viewport {
        guard try directory.hasWriter() else { throw BridgeError.noBroadcast(path: directory.path) }
        guard let source = try BridgeInspection(directory).latest?.source else {
            throw Failure(.tryAgain, "there is no picture in \(directory.path) yet: try again")
        }
        var picker = try SourcePicker(on: nil)
        let shared = PixelRect(x: source.x, y: source.y, width: source.width, height: source.height)
        guard let part = try picker.region().intersection(shared)?.moved(x: -shared.x, y: -shared.y),
            let viewport = Viewport([part.x, part.y, part.x + part.width, part.y + part.height])
        else {
            throw Failure(.failed, "drag a part of what is shared, at least 64 by 36")
        }
        return viewport
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
