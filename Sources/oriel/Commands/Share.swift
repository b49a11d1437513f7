import ArgumentParser
import Calls
import Configuration
import FrameBridge
import Glibc
import HTTP
import Helpers
import Nearby
import Posix
import Recording
import Supervising

struct Share: ParsableCommand, SenderCommand {
    static let configuration = CommandConfiguration(
        abstract: "Share the screen with browsers: start a broadcast and serve it.",
        discussion: """
            The address to open goes to standard output; whoever has it can look in, until Ctrl-C or "oriel stop". Processes \
            of their own do the work, as "oriel start", "oriel attach web", "oriel hear" and "oriel record" do: one has the screen, \
            one the network, one the sound, and one the files of --record. A crash of any of them is reported, and the process is started again.
            """
    )

    @Option(
        help: ArgumentHelp(
            "A call beside the browsers, as \"oriel attach\" takes it, on the same encode where it takes that; may be given again.",
            valueName: "call"
        ),
        transform: { try CallPlan(parsing: $0) }
    )
    var also: [CallPlan] = []

    @Option(help: ArgumentHelp("Record into a folder, as \"oriel record\" does.", valueName: "folder"))
    var record: String?

    @Option(
        help: ArgumentHelp(
            "Announce this device to all on the network by its name, to its pairs alone, or not at all; see \"oriel nearby\".",
            valueName: "named|paired|off"
        )
    )
    var nearby = Neighbourhood.Visibility.off

    @OptionGroup(title: "Options of --nearby") var files: InboxOptions
    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup(title: "Options of --record") var recording: RecordingOptions
    @OptionGroup(title: "Options of --record") var clips: ClipOptions
    @OptionGroup(title: "Source options") var source: SourceOptions
    @OptionGroup(title: "Video options") var video: VideoOptions
    @OptionGroup(title: "Sound options") var sound: SoundOptions
    @OptionGroup var entry: AcceptOptions
    @OptionGroup var talk: TalkOptions
    @OptionGroup(title: "Options for commands of viewers") var desktop: DesktopOptions
    @OptionGroup(title: "Web options") var web: WebOptions
    @OptionGroup(title: "Options of --also") var joined: JoinedCallOptions
    @OptionGroup(title: "Options of --also") var room: RoomOptions
    @OptionGroup var sending: SenderOptions

    func validate() throws {
        try joined.validate(for: calls)
        if record == nil, !recording.isEmpty || !clips.isEmpty {
            throw ValidationError("options of recordings are for --record: give that too.")
        }
        if nearby == .off, files.inbox != nil { throw ValidationError("--inbox is for --nearby: give that too.") }
        // A sender that is started again must have the same address.
        if web.server.listen.port == 0 { throw ValidationError("--listen needs a port other than 0 here.") }
    }

    func run() throws {
        // A parent may have left SIGCHLD ignored: the kernel would then not tell how a child ended.
        signal(SIGCHLD, SIG_DFL)
        // Ctrl-Z would stop this process alone, and leave the screen shared with nobody to end it.
        signal(SIGTSTP, SIG_IGN)
        let signals = try TerminationSignals()
        // All processes would say the same about a file that cannot be written, or a broadcast that is there already.
        try OutputFile.requireWritable(sending.stats, sending.events)
        if let record { _ = try RecordingFolder(recordingInto: record) }
        let directory = try broadcast.directory(create: true)
        if try directory.hasWriter() {
            throw BridgeError.alreadyRunning(path: directory.path, pid: try directory.status()?.pid)
        }
        var settings = try settings
        try settings.desktop.findSources()
        let supervisor = Supervisor(
            capture: try SupervisedProcess("capture process", "start", source.settings(of: broadcast)),
            sender: try SupervisedProcess("sender", "attach", settings),
            sound: try SupervisedProcess("sound process", "hear", sound.settings(of: broadcast, sending.events)),
            recorder: try recorder.map { try SupervisedProcess("recorder", "record", $0) },
            nearby: try nearbyProcess.map {
                try SupervisedProcess("process for devices nearby", NearbyProcessSettings.command, $0)
            }
        )
        Secret.Variable.removeAll()
        // A sender in its sandbox cannot remove its own folder.
        defer { for kind in ProcessFolder.Kind.allCases { ProcessFolder.removeDead(kind, in: directory) } }
        // Whichever of its processes ends first.
        defer { AudioLock.forgetEnded(in: directory) }
        if let code = try supervisor.run(until: signals) { throw ExitCode(code) }
    }

    private var calls: [CallPlan] { [.web] + also }

    /// Nil if this device is not announced.
    var nearbyProcess: NearbyProcessSettings? {
        get throws {
            guard nearby != .off else { return nil }
            var settings = NearbyProcessSettings()
            (settings.visibility, settings.isLasting, settings.inbox) = (nearby, true, try files.path)
            return settings
        }
    }

    /// Nil if nothing is recorded.
    var recorder: RecorderProcessSettings? {
        get throws {
            guard let record else { return nil }
            var settings = RecorderProcessSettings(of: try broadcast.path, name: broadcast.name, into: record)
            recording.apply(to: &settings)
            clips.apply(to: &settings)
            (settings.events, settings.isSupervised) = (sending.events, true)
            settings.takesViewers = entry.viewersRecord
            return settings
        }
    }

    var settings: SenderProcessSettings {
        get throws {
            var settings = try settings(for: calls)
            settings.framesPerSecond = min(source.fps, 60)
            settings.conduct.offersSound = sound.isHeard
            settings.desktop.display = source.display
            return settings
        }
    }
}
