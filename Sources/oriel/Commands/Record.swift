import ArgumentParser
import Configuration
import Control
import FrameBridge
import Glibc
import Helpers
import Posix
import Recording

struct Record: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Record a broadcast into files that every player takes (WebM).",
        discussion: """
            It writes what the sender of the broadcast encodes already, and so costs next to nothing. Where no sender runs, or with \
            --size, --codec or --bitrate, it has one of its own. A file is called ….part until \
            it is whole; after a crash, the next start repairs it. Pauses of the broadcast are in no file. Ctrl-C ends it.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The first file, NAME.webm. Without it, files are named by broadcast and date. Or what recorders that run are to do: "
                + "pause, resume, cut (go on in another file) or status.",
            valueName: "file|action"
        )
    )
    var what: String?

    @Flag(help: "Print the status as JSON, an object for each recorder.")
    var json = false

    @Option(help: ArgumentHelp("Folder of the files.", valueName: "folder"))
    var to: String?

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var video: RecordedVideoOptions

    private var action: RecordAction? { what.flatMap { RecordAction(rawValue: $0) } }
    private var file: String? { action == nil ? what : nil }

    func validate() throws {
        if json, action != .status { throw ValidationError("--json is for \"oriel record status\".") }
        if let action, to != nil || !recording.isEmpty || video.settings != nil {
            throw ValidationError(
                "a recorder that runs keeps the options of its start: give --name or --dir with \(action) alone."
            )
        }
        guard let file else { return }
        if to != nil { throw ValidationError("give either a file or --to.") }
        guard file.hasSuffix(FileName.ending), !file.hasSuffix("/\(FileName.ending)"), file != FileName.ending else {
            throw ValidationError("a recording is called NAME.webm: give such a name, or a folder with --to.")
        }
    }

    func run() throws {
        if let action { return try action.run(broadcast, json: json) }
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
            settings.video = video.settings
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
        let directory = try BridgeDirectory(path: broadcast, create: false)
        let files: RecordingFolder
        do throws(SystemError) { files = try RecordingFolder(folder) } catch {
            throw Failure(.failed, "cannot record into \(folder) (\(error.reason)): choose another folder")
        }
        let connector = try FeedConnectorSettings(of: broadcast, video: video).start()
        let place = try ProcessFolder(.recorder, in: directory)
        let listener = try place.listen()
        let requests = try RecorderRequests(of: "the recorder")
        let sandbox = Sandbox(writable: folder, readable: [], socketFamilies: [])
        try enterSandbox(by: sandbox.enter)
        for mended in files.mend() { Console.note("\(mended)") }
        var settings = RecordingEngine.Settings()
        (settings.segmentTime, settings.segmentSize) = (segmentSeconds.map { .seconds($0) }, segmentBytes)
        settings.title = name
        var retention = Retention()
        retention.age = keptSeconds.map { .seconds($0) }
        (retention.bytes, retention.reserve) = (keptBytes, reservedBytes)
        let control = try LineServer(answering: listener, requests.ask)
        defer { control.close() }
        var recorder = Recorder(
            into: files,
            settings,
            keeping: retention,
            broadcast: name,
            base: base,
            requests: requests,
            connector: connector
        ) { [folder] in
            if case .completed(let file) = $0 { Console.print(["\(folder)/\(file)"]) } else { Console.note("\($0)") }
        }
        if recorder.run(until: signals) == .broadcastEnded { Console.note("the broadcast has ended") }
    }
}

extension FeedConnectorSettings {
    static let command = "record-feed"

    /// The process, for a recorder that may then give up its access.
    func start() throws -> DescriptorChannel {
        do throws(SystemError) {
            let ends = try openDescriptorChannel()
            let channel = DescriptorChannel(taking: FileDescriptor(taking: ends.0))
            let other = FileDescriptor(taking: ends.1)
            _ = try Self.child(Self.command, self, input: other.raw)
            return channel
        } catch {
            throw Failure(
                .failed,
                "cannot start the process that connects to senders (\(error.reason)): \(error.advice)"
            )
        }
    }

    /// Connects a recorder until it ends.
    func run() throws {
        let directory = try BridgeDirectory(path: broadcast, create: false)
        var settings = SenderProcessSettings(of: broadcast, into: [])
        if let video { settings.video = video }
        let sender = settings
        var connector = FeedConnector(in: directory, needsOwn: video != nil) { () throws(SystemError) in
            try Self.child("attach", sender, input: nil)
        }
        try connector.run(DescriptorChannel(taking: FileDescriptor(taking: FeedConnector.descriptor)))
    }

    private static func child(
        _ command: String,
        _ settings: some Encodable,
        input: Int32?
    ) throws(SystemError) -> ChildProcess {
        let memory = try Handed.memory(of: settings)
        return try ChildProcess(
            "/proc/self/exe",
            arguments: ["oriel", command, Handed.flag],
            descriptors: [input, nil, 2, memory.raw],
            tie: .child
        )
    }
}
