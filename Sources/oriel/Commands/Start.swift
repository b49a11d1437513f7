import ArgumentParser
import Capture
import Configuration
import FrameBridge
import Glibc
import Helpers
import Pixels
import Posix
import Publishing
import X11Capture

struct Start: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Start a broadcast: capture the screen until told to stop.",
        discussion: "Ctrl-C or \"oriel stop\" ends it. Nothing leaves the machine before a sender is attached."
    )

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var source: SourceOptions

    @Flag(help: "Return once the broadcast is live; its messages go to the file \"log\" in its folder.")
    var detach = false

    @Flag(name: .customLong("continue"), help: .hidden)
    var goesOn = false

    @Option(help: ArgumentHelp("Append statistics, one JSON object a second.", valueName: "file"))
    var stats: String?

    func run() throws {
        var settings = try source.settings(of: broadcast)
        (settings.statistics, settings.goesOn) = (stats, goesOn)
        if detach { try Detachment.start(settings) } else { try settings.run() }
    }
}

extension CaptureProcessSettings {
    func run() throws {
        let signals = try TerminationSignals()
        let directory = try BridgeDirectory(path: broadcast, create: true)
        // "oriel source" may have changed the source since the first start. Words with a mark mean that very window.
        let shown = goesOn ? try directory.shownSource().flatMap { CaptureSource($0) } : nil
        var settings = CaptureSettings(try shown ?? read(CaptureSource(source), orElse: "\(source) cannot be shown"))
        settings.display = display
        settings.framesPerSecond = framesPerSecond
        settings.showsCursor = drawsPointer
        settings.storage = storage
        settings.goesOn = goesOn
        let log = try statistics.map { try StatisticsFile(path: $0) }
        let authority = try XAuthority()
        settings.willConnect = { authority?.renew() }
        try enterSandbox(by: sandbox(directory.path).enter)
        do {
            let loop = try CaptureLoop(settings, in: directory, report: Console.note)
            Console.note("sharing \(settings.source)\(loop.region.map { " (\($0))" } ?? "") in \(directory.path)")
            try loop.run(until: signals) { log?.append($0) }
        }
        // A mute ends with the broadcast; a sound process that is there sees to that by itself.
        AudioLock.forgetEnded(in: directory)
    }

    /// Allows Unix sockets for the X server, and the network only if the display names a host.
    private func sandbox(_ folder: String) -> Sandbox {
        let display = display ?? getenv("DISPLAY").map { String(cString: $0) } ?? ""
        var sandbox = Sandbox(
            writable: folder,
            readable: [],
            socketFamilies: Sandbox.socketFamilies(reaching: display)
        )
        sandbox.sharesSegments = true
        return sandbox
    }
}

struct SourceOptions: ParsableArguments {
    @Option(help: "X display; the one that DISPLAY names if not given.")
    var display: String?

    @OptionGroup var choice: SourceChoice

    @Option(help: "Frames a second at most, 1 to 240.")
    var fps = 30

    @Flag(inversion: .prefixedNo, help: "Draw the pointer into the picture.")
    var cursor = true

    @Option(
        help: ArgumentHelp(
            "Where frames lie: \"file\", which readers map (the default), or \"memfd\", sealed memory that readers ask for.",
            valueName: "storage"
        ),
        transform: { try read(FrameStorage(rawValue: $0), orElse: "\"\($0)\" is neither file nor memfd.") }
    )
    var bridge = FrameStorage.file

    func validate() throws { try require("--fps", fps, in: 1...240) }

    func settings(of broadcast: BroadcastOptions) throws -> CaptureProcessSettings {
        var settings = CaptureProcessSettings(of: try broadcast.path)
        (settings.display, settings.source) = (display, try choice.source(on: display).words)
        (settings.framesPerSecond, settings.drawsPointer, settings.storage) = (fps, cursor, bridge)
        return settings
    }
}

/// What to capture; the whole screen if no option is given.
struct SourceChoice: ParsableArguments {
    @Option(help: ArgumentHelp("Capture one monitor, by the name that \"oriel list\" shows.", valueName: "name"))
    var monitor: String?

    @Option(help: ArgumentHelp("Capture a rectangle of the screen.", valueName: "WxH+X+Y"))
    var region: String?

    @Option(
        help: ArgumentHelp("Capture one window, by the identifier that \"oriel list\" shows.", valueName: "id"),
        transform: Self.windowIdentifier
    )
    var window: UInt32?

    @Flag(help: "Choose on the screen: click a window, drag a region, or press m for a monitor; Escape gives up.")
    var pick = false

    var isEmpty: Bool { monitor == nil && region == nil && window == nil && !pick }

    func validate() throws {
        if [monitor != nil, region != nil, window != nil, pick].count(where: { $0 }) > 1 {
            throw ValidationError("--monitor, --region, --window and --pick exclude each other.")
        }
        if monitor?.isEmpty ?? false {
            throw ValidationError("--monitor needs the name of a monitor: \"oriel list\" shows them.")
        }
        if let region {
            do { _ = try PixelRect(geometry: region) } catch { throw ValidationError("\(error)") }
        }
    }

    private static func windowIdentifier(_ text: String) throws -> UInt32 {
        let isHexadecimal = text.hasPrefix("0x") || text.hasPrefix("0X")
        guard let id = UInt32(isHexadecimal ? text.dropFirst(2) : text[...], radix: isHexadecimal ? 16 : 10), id > 0
        else {
            throw ValidationError("\(text) is no window: give an identifier from \"oriel list\", such as 0x2400007.")
        }
        return id
    }

    /// - Parameter display: nil for the one that DISPLAY names.
    func source(on display: String? = nil) throws -> CaptureSource {
        if pick {
            var picker = try SourcePicker(on: display)
            return try picker.source()
        }
        if let monitor { return .monitor(monitor) }
        if let region { return .region(try PixelRect(geometry: region)) }
        return window.map { .window($0) } ?? .screen
    }
}
