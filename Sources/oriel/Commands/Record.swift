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
                + "pause, resume, cut (go on in another file), trigger (begin a clip), change (write other clips, by --on-change and the like; everything without), off (record nothing until \"on\"), on or status; or list: show the recordings of a folder.",
            valueName: "file|action"
        )
    )
    var what: String?

    @Flag(help: "Print the status or the list as JSON, an object for each recorder or recording.")
    var json = false

    @Flag(help: "With off, pause the broadcast as well, so that nobody sees the screen; with on, go on with both.")
    var strict = false

    @Option(help: ArgumentHelp("Folder of the files.", valueName: "folder"))
    var to: String?

    @Option(
        help: ArgumentHelp("Append what happens to clips, a JSON object a line.", valueName: "file")
    )
    var events: String?

    @Flag(help: "Viewers may command this recorder, where the sender has --viewers-record too.")
    var viewersRecord = false

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup var clips: ClipOptions
    @OptionGroup var video: RecordedVideoOptions
    @OptionGroup var list: RecordingListOptions

    private var hasOptionsOfStart: Bool {
        viewersRecord || events != nil || !recording.isEmpty || video.settings != nil
    }

    private var isList: Bool { what == "list" }
    private var action: RecordAction? { what.flatMap { RecordAction(rawValue: $0) } }
    private var file: String? { action == nil && !isList ? what : nil }

    func validate() throws {
        if json, action != .status, !isList {
            throw ValidationError("--json is for \"oriel record status\" and \"oriel record list\".")
        }
        if strict, action != .off, action != .on {
            throw ValidationError("--strict is for \"oriel record off\" and \"oriel record on\".")
        }
        if !isList, !list.isEmpty {
            throw ValidationError("--contact-sheet and --every are for \"oriel record list\".")
        }
        if isList, hasOptionsOfStart || !clips.isEmpty {
            throw ValidationError(
                "\"oriel record list\" has --to, --json, --contact-sheet and --every: leave the others out."
            )
        }
        if let action, to != nil || hasOptionsOfStart || action != .change && !clips.isEmpty {
            throw ValidationError(
                "a recorder that runs keeps the options of its start: give --name or --dir with \(action) alone."
            )
        }
        if action == .change, clips.replay != nil || clips.onClip != nil {
            throw ValidationError("--replay and --on-clip stay as a recorder was started: leave them out.")
        }
        guard let file else { return }
        if to != nil { throw ValidationError("give either a file or --to.") }
        guard file.hasSuffix(FileName.ending), !file.hasSuffix("/\(FileName.ending)"), file != FileName.ending else {
            throw ValidationError("a recording is called NAME.webm: give such a name, or a folder with --to.")
        }
    }

    func run() throws {
        if isList { return try list.run(in: to ?? ".", json: json) }
        if let action { return try action.run(broadcast, json: json, isStrict: strict, clips: clips.settings) }
        if let file, access(file, F_OK) == 0 {
            throw Failure(.failed, "there is a file \(file) already: give another name")
        }
        let settings = try settings
        let directory = try BridgeDirectory(path: settings.broadcast, create: false)
        if try BridgeInspection(directory).liveness == .stopped { throw BridgeError.noBroadcast(path: directory.path) }
        try settings.run()
    }

    var settings: RecorderProcessSettings {
        get throws {
            var settings = RecorderProcessSettings(
                of: try broadcast.path,
                name: broadcast.name,
                into: to ?? folderOfFile
            )
            settings.base = file.map { String($0.split(separator: "/").last!.dropLast(FileName.ending.count)) }
            recording.apply(to: &settings)
            clips.apply(to: &settings)
            (settings.events, settings.takesViewers) = (events, viewersRecord)
            settings.video = video.settings
            return settings
        }
    }

    private var folderOfFile: String { file.map(folder(ofFile:)) ?? "." }
}
