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
        if let display = parts(ofBroadcast: before.source)?.display {
            _ = try XConnection(display: String(display)).region(of: source)
        }
        try Control.ask(broadcast, for: .show("\(source)")) { _ in
            ((try? BridgeInspection(directory))?.source.hasPrefix("\(source) of ")) ?? false
        }
    }
}

/// What a broadcast says of its source: what is shown, and the display it is on.
private func parts(ofBroadcast source: String) -> (source: Substring, display: Substring)? {
    source.ranges(of: " of ").last.map { (source[..<$0.lowerBound], source[$0.upperBound...]) }
}

extension CaptureSource {
    /// What a broadcast shows; nil when it has not said so yet.
    init?(ofBroadcast source: String) {
        guard let shown = parts(ofBroadcast: source)?.source else { return nil }
        self.init(String(shown))
    }
}
