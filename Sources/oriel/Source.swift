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

    func run() throws {
        let directory = try broadcast.directory()
        let before = try BridgeInspection(directory)
        let source = try choice.source()
        // Here, where a person can be told: the capture process would only go on as before.
        let display = before.source.components(after: " of ")
        if let display { _ = try XConnection(display: display).region(of: source) }
        try Control.ask(broadcast, for: .show("\(source)")) { _ in
            ((try? BridgeInspection(directory))?.source.hasPrefix("\(source) of ")) ?? false
        }
    }
}

extension String {
    /// What comes after the last occurrence of a separator; nil when there is none.
    fileprivate func components(after separator: String) -> String? {
        guard let range = self.ranges(of: separator).last else { return nil }
        return String(self[range.upperBound...])
    }
}
