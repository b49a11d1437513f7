import ArgumentParser
import Configuration
import Control
import Media
import X11Capture

extension StatusFrame: ExpressibleByArgument {}
extension Legibility: ExpressibleByArgument {}

/// What commands of viewers may do on this desktop.
struct DesktopOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A source that viewers with the right may choose, and a name for it, such as \"slides=window 0x1a00007\", \"left=monitor DP-1\", "
                + "\"part=region 800x600+0+0\" or \"all=screen\"; may be given again.",
            valueName: "name=source"
        ),
        transform: { try NamedSource(parsing: $0) }
    )
    var allowSource: [NamedSource] = []

    @Option(
        help: ArgumentHelp(
            "Run a program for each message of a viewer, with its text and NAME=VALUE for each parameter.",
            valueName: "program"
        )
    )
    var onMessage: String?

    @Option(
        help: ArgumentHelp(
            "A frame on this screen around what is shared, or one while somebody watches (\"auto\").",
            valueName: "off|low|medium|high|auto"
        )
    )
    var statusFrame = DesktopSettings().statusFrame

    @Option(
        help: ArgumentHelp(
            "Brighten the picture, or only pictures that are dark and have nothing bright in them (\"auto\").",
            valueName: "off|on|auto"
        )
    )
    var legibility = VideoSettings().legibility

    @Option(
        help: ArgumentHelp(
            "Play an installed sound when somebody asks to look in: \"oriel chime list\".",
            valueName: "name"
        )
    )
    var knockChime: String?

    @Option(help: ArgumentHelp("Run a program when somebody asks to look in.", valueName: "program"))
    var onKnock: String?

    @Option(help: ArgumentHelp("End the program of --on-knock after so many seconds, 1 to 60.", valueName: "seconds"))
    var knockTime = DesktopSettings().knockSeconds

    func validate() throws {
        try require("--knock-time", knockTime, in: 1...60)
        if let onKnock, !isProgram(onKnock) {
            throw ValidationError("--on-knock \(onKnock) is no program: give its path.")
        }
        if let onMessage, !isProgram(onMessage) {
            throw ValidationError("--on-message \(onMessage) is no program: give its path.")
        }
        let names = allowSource.map(\.name)
        if Set(names).count < names.count { throw ValidationError("two sources of --allow-source have one name.") }
    }

    var settings: DesktopSettings {
        var settings = DesktopSettings()
        (settings.sources, settings.program, settings.statusFrame) = (allowSource, onMessage, statusFrame)
        (settings.knockChime, settings.knockProgram, settings.knockSeconds) = (knockChime, onKnock, knockTime)
        return settings
    }
}

extension NamedSource {
    private static let mostCharacters = 48
    private static let mostBytes = 192

    fileprivate init(parsing text: String) throws(ValidationError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, 1...Self.mostCharacters ~= parts[0].count, parts[0].utf8.count <= Self.mostBytes,
            parts[0] != "next",
            let source = CaptureSource(parts[1])
        else {
            throw ValidationError(
                "\(text) is no source with a name: give one as \"slides=window 0x1a00007\", \"left=monitor DP-1\", "
                    + "\"part=region 800x600+0+0\" or \"all=screen\"."
            )
        }
        self.init(name: parts[0], words: source.words)
    }
}

extension DesktopSettings {
    /// Looks for the sources, and gives windows their marks: later windows may have the same identifiers.
    ///
    /// - Throws: for one that is not there. A window may be hidden now. Without a screen, only windows are missed.
    mutating func findSources() throws(X11Error) {
        guard !sources.isEmpty else { return }
        let connection: XConnection
        do throws(X11Error) { connection = try XConnection(display: display) } catch {
            if sources.contains(where: { $0.words.hasPrefix("window ") }) { throw error }
            return
        }
        sources = try sources.map { named throws(X11Error) in
            guard let source = CaptureSource(named.words) else { return named }
            do throws(X11Error) { _ = try connection.region(of: source) } catch .windowHidden {}
            return NamedSource(name: named.name, words: try connection.marked(source).words)
        }
    }
}
