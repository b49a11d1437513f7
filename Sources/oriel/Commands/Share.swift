import ArgumentParser
import Calls
import Configuration
import FrameBridge
import Glibc
import HTTP
import Helpers
import Posix
import Time

struct Share: ParsableCommand, SenderCommand {
    static let configuration = CommandConfiguration(
        abstract: "Share the screen with browsers: start a broadcast and serve it.",
        discussion: """
            The address to open goes to standard output; whoever has it can look in, until Ctrl-C or "oriel stop". Three processes \
            do the work, as "oriel start", "oriel attach web" and "oriel hear" do: one has the screen, one the network, and one the \
            sound. A crash of any of them is reported, and the process is started again.
            """
    )

    /// The time between two attempts to print while standard output takes nothing, as in a terminal stopped by Ctrl-S.
    private static let backlogTime = Duration.milliseconds(100)

    @Option(
        help: ArgumentHelp(
            "A call beside the browsers, as \"oriel attach\" takes it, on the same encode where it takes that; may be given again.",
            valueName: "call"
        ),
        transform: { try CallPlan(parsing: $0) }
    )
    var also: [CallPlan] = []

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup(title: "Source options") var source: SourceOptions
    @OptionGroup(title: "Video options") var video: VideoOptions
    @OptionGroup(title: "Sound options") var sound: SoundOptions
    @OptionGroup var entry: AcceptOptions
    @OptionGroup var talk: TalkOptions
    @OptionGroup(title: "Web options") var web: WebOptions
    @OptionGroup(title: "Options of --also") var joined: JoinedCallOptions
    @OptionGroup(title: "Options of --also") var room: RoomOptions
    @OptionGroup var sending: SenderOptions

    func validate() throws {
        try joined.validate(for: calls)
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
        let directory = try broadcast.directory(create: true)
        if try directory.hasWriter() {
            throw BridgeError.alreadyRunning(path: directory.path, pid: try directory.status()?.pid)
        }
        // In the order of `Supervision.Process`.
        let processes = [
            try SupervisedProcess("capture process", "start", source.settings(of: broadcast)),
            try SupervisedProcess("sender", "attach", settings),
            try SupervisedProcess("sound process", "hear", sound.settings(of: broadcast, sending.events)),
        ]
        Secret.Variable.removeAll()
        // A sender in its sandbox cannot remove its own folder.
        defer { SenderFolder.removeDead(in: directory) }
        // Whichever of its processes ends first.
        defer { AudioLock.forgetEnded(in: directory) }
        try supervise(processes, until: signals)
    }

    private var calls: [CallPlan] { [.web] + also }

    var settings: SenderProcessSettings {
        get throws {
            var settings = try settings(for: calls)
            settings.framesPerSecond = min(source.fps, 60)
            settings.conduct.offersSound = sound.isHeard
            return settings
        }
    }

    /// Runs all processes until one has done its work, cannot do it, or a signal comes.
    ///
    /// - Throws: the exit code of a process that cannot do its work; it has said why.
    private func supervise(_ processes: [SupervisedProcess], until signals: borrowing TerminationSignals) throws {
        var supervision = Supervision(at: MonotonicClock.now())
        var problem: (any Error)?
        while true {
            if signals.take() { supervision.end() }
            let now: Instant = MonotonicClock.now()
            for (one, process) in zip(Supervision.Process.allCases, processes) {
                guard let exit = process.tend() else { continue }
                if supervision.noteEnd(of: one, by: exit, at: now) { process.tellOfCrash(exit) }
            }
            while let action = supervision.nextAction(at: now) {
                switch action {
                case .start(let one, let isFirst):
                    do { try processes[one.rawValue].start(isFirst: isFirst) } catch {
                        if one != .sound { problem = error } else { Console.note("\(error)") }
                        supervision.noteFailedStart(of: one)
                    }
                case .terminate(let one): processes[one.rawValue].terminate()
                case .kill(let one): processes[one.rawValue].kill()
                }
            }
            if supervision.isOver { break }
            let descriptors = [signals.descriptor.raw] + processes.flatMap(\.descriptors)
            let hasBacklog = processes.contains(where: \.hasBacklog)
            let deadline = earliest(supervision.deadline, hasBacklog ? now + Self.backlogTime : nil)
            waitReadable(descriptors.span, until: deadline)
        }
        if let problem { throw problem }
        switch supervision.outcome {
        case .failed(let code): throw ExitCode(code)
        case .givenUp(let one, let exit):
            throw processes[one.rawValue].failure(by: exit, times: Supervision.mostRepeats)
        case .done, nil: break
        }
    }
}
