import ArgumentParser
import Calls
import FrameBridge
import Glibc
import HTTP
import Posix

struct Share: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Share the screen with browsers: start a broadcast and serve it.",
        discussion: """
            The address to open goes to standard output; who has it looks in, until Ctrl-C or "oriel stop". Two processes \
            do the work, as "oriel start" and "oriel attach web" do: one has the screen, the other the network. A crash \
            of either is told, and it is started again.
            """
    )

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup(title: "Source options") var source: SourceOptions
    @OptionGroup(title: "Video options") var video: VideoOptions
    @OptionGroup(title: "Web options") var web: WebOptions
    @OptionGroup var sending: SenderOptions

    func validate() throws {
        // A sender that is started again must be found where it was.
        if web.listen.port == 0 { throw ValidationError("--listen needs a port other than 0 here.") }
    }

    func run() throws {
        // Who starts this program may ignore it, and then nothing tells how a child ended.
        signal(SIGCHLD, SIG_DFL)
        // Ctrl-Z would stop this process alone, and leave the screen shared with nobody to end it.
        signal(SIGTSTP, SIG_IGN)
        let signals = try TerminationSignals()
        // Both processes would say the same about a broadcast that is there already.
        let directory = try broadcast.directory(create: true)
        if try directory.hasWriter() {
            throw Failure(BridgeError.alreadyRunning(path: directory.path, pid: try directory.status()?.pid))
        }
        // Not on the command line, which everybody on the machine can read; and not to the capture process.
        let secrets = try web.secrets()
        for name in secrets.keys { unsetenv(name) }
        var sender = ["attach", "web"] + broadcast.arguments + video.arguments + web.arguments
        sender += sending.arguments + ["--fps", "\(min(source.fps, 60))"]
        let capture = ["start"] + broadcast.arguments + source.arguments
        // What a sender leaves it could not remove itself.
        defer { SenderFolder.removeDead(in: directory) }
        try supervise(
            SupervisedProcess("capture process", arguments: capture, laterArguments: capture + ["--continue"]),
            SupervisedProcess("sender", arguments: sender, environment: secrets),
            until: signals
        )
    }

    /// Runs both processes until one has done its work, cannot do it, or a signal comes.
    ///
    /// - Throws: the exit code of a process that cannot do its work; it has said why.
    private func supervise(
        _ capture: SupervisedProcess,
        _ sender: SupervisedProcess,
        until signals: borrowing TerminationSignals
    ) throws {
        // The sender says goodbye while there is still a picture.
        defer {
            sender.end()
            capture.end()
        }
        while !signals.take() {
            let now = MonotonicClock.now()
            for process in [capture, sender] {
                switch try process.tend(at: now) {
                case .going: break
                case .done: return
                case .failed(let code): throw ExitCode(code)
                }
            }
            let descriptors = [signals.descriptor.raw] + [capture, sender].flatMap(\.descriptors)
            let deadline = [capture, sender].compactMap(\.nextDeadline).min() ?? .max
            waitReadable(descriptors.span, until: deadline)
        }
    }
}
