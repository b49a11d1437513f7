import ArgumentParser
import Configuration
import FrameBridge
import Glibc
import Helpers
import Posix
import Recording

struct Record: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Record a broadcast into files that every player takes (WebM).",
        discussion: """
            It writes what the sender of the broadcast encodes already, and so costs next to nothing. A file is called ….part until \
            it is whole; after a crash, the next start repairs it. Pauses of the broadcast are in no file. Ctrl-C ends it.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The first file, NAME.webm. Without it, files are named by broadcast and date.",
            valueName: "file"
        )
    )
    var file: String?

    @Option(help: ArgumentHelp("Folder of the files.", valueName: "folder"))
    var to: String?

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var recording: RecordingOptions

    func validate() throws {
        guard let file else { return }
        if to != nil { throw ValidationError("give either a file or --to.") }
        guard file.hasSuffix(FileName.ending), !file.hasSuffix("/\(FileName.ending)"), file != FileName.ending else {
            throw ValidationError("a recording is called NAME.webm: give such a name, or a folder with --to.")
        }
    }

    func run() throws {
        if let file, access(file, F_OK) == 0 {
            throw Failure(.failed, "there is a file \(file) already: give another name")
        }
        try settings.run()
    }

    var settings: RecorderProcessSettings {
        get throws {
            var settings = RecorderProcessSettings(of: try broadcast.path, name: broadcast.name, into: to ?? folder)
            settings.base = file.map { String($0.split(separator: "/").last!.dropLast(FileName.ending.count)) }
            recording.apply(to: &settings)
            return settings
        }
    }

    private var folder: String {
        guard let file, let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }
}

extension RecorderProcessSettings {
    /// Records until a signal comes, or the broadcast ends.
    func run() throws {
        let signals = try TerminationSignals()
        _ = try BridgeDirectory(path: broadcast, create: false)
        let files: RecordingFolder
        do throws(SystemError) { files = try RecordingFolder(folder) } catch {
            throw Failure(.failed, "cannot record into \(folder) (\(error.reason)): choose another folder")
        }
        let connector = try RecordFeed.start(for: broadcast)
        let sandbox = Sandbox(writable: folder, readable: [], socketFamilies: [])
        try enterSandbox(by: sandbox.enter)
        for mended in files.mend() { Console.note("\(mended)") }
        var settings = RecordingEngine.Settings()
        (settings.segmentTime, settings.segmentSize) = (segmentSeconds.map { .seconds($0) }, segmentBytes)
        settings.title = name
        var retention = Retention()
        retention.age = keptSeconds.map { .seconds($0) }
        (retention.bytes, retention.reserve) = (keptBytes, reservedBytes)
        var recorder = Recorder(
            into: files,
            settings,
            keeping: retention,
            broadcast: name,
            base: base,
            connector: connector
        ) { [folder] in
            if case .completed(let file) = $0 { Console.print(["\(folder)/\(file)"]) } else { Console.note("\($0)") }
        }
        if recorder.run(until: signals) == .broadcastEnded { Console.note("the broadcast has ended") }
    }
}

/// The process that connects a recorder to senders.
struct RecordFeed: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record-feed",
        abstract: "Connect a recorder to senders.",
        shouldDisplay: false
    )

    @Argument var path: String

    func run() throws {
        let directory = try BridgeDirectory(path: path, create: false)
        try FeedConnector.run(
            DescriptorChannel(taking: FileDescriptor(taking: FeedConnector.descriptor)),
            in: directory
        )
    }

    /// - Parameter path: the broadcast's folder.
    static func start(for path: String) throws -> DescriptorChannel {
        do throws(SystemError) {
            let ends = try openDescriptorChannel()
            let channel = DescriptorChannel(taking: FileDescriptor(taking: ends.0))
            let other = FileDescriptor(taking: ends.1)
            _ = try ChildProcess(
                "/proc/self/exe",
                arguments: ["oriel", configuration.commandName!, "--", path],
                inheriting: [],
                descriptors: [other.raw, nil, 2],
                tie: .child
            )
            return channel
        } catch {
            throw Failure(
                .failed,
                "cannot start the process that connects to senders (\(error.reason)): \(error.advice)"
            )
        }
    }
}
