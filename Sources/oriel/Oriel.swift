import ArgumentParser
import Configuration
import Glibc
import Helpers
import Publishing

@main
struct Oriel: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "oriel",
        abstract: "Share an X11 screen into any call.",
        discussion: """
            "oriel share" does it all for browsers. Behind it, "oriel start" captures the screen and "oriel attach CALL" \
            streams it. The two are separate processes: either may end and be started again while the other goes on.
            """,
        version: "0.1.0",
        subcommands: [
            Share.self, Start.self, Attach.self, Pause.self, Resume.self, Stop.self, Status.self, List.self,
            Inspect.self, Source.self, Accept.self, Reject.self, Kick.self, Talk.self, Known.self, Forget.self,
            Invite.self, Invites.self, Revoke.self, Leave.self, SetCommand.self, ViewportCommand.self,
            LegibilityCommand.self, HighlightCommand.self, MessageCommand.self, StatusFrameCommand.self,
            ChimeCommand.self, Hear.self,
            SoundCommand.self, Mute.self, Unmute.self, Rooms.self, View.self, Record.self, Replay.self, Ask.self,
            NearbyCommand.self, PairCommand.self, Pairs.self, Unpair.self, Rename.self, Permit.self, Tell.self,
            SendFile.self,
            DesktopCommand.self, Hook.self, FileReader.self,
        ]
    )

    static func main() {
        // A write beyond `ulimit -f` fails with EFBIG then, which can be told.
        signal(SIGXFSZ, SIG_IGN)
        // The parent may have closed the standard streams: the next three files would then take their numbers.
        for descriptor in 0...2 where fcntl(Int32(descriptor), F_GETFD) < 0 { _ = open("/dev/null", O_RDWR) }
        var command: any ParsableCommand = Oriel()
        do {
            if try runHanded(CommandLine.arguments) { return }
            command = try parseAsRoot()
            try command.run()
        } catch {
            guard let failure = Failure(ending: error) else { exit(sayingWhy: error, of: type(of: command)) }
            Console.note(failure.sentence)
            Glibc.exit(failure.code.rawValue)
        }
    }

    /// Runs with the settings that another process of this program handed over. Returns whether one did.
    private static func runHanded(_ arguments: [String]) throws -> Bool {
        guard arguments.count == 3, arguments[2] == Handed.flag else { return false }
        switch arguments[1] {
        case "start": try Handed.take(CaptureProcessSettings.self).run()
        case "attach": try Handed.take(SenderProcessSettings.self).run()
        case "hear": try Handed.take(SoundProcessSettings.self).run()
        case "record": try Handed.take(RecorderProcessSettings.self).run()
        case NearbyProcessSettings.command: try Handed.take(NearbyProcessSettings.self).run()
        case FeedConnectorSettings.command: try Handed.take(FeedConnectorSettings.self).run()
        default: return false
        }
        return true
    }

    /// Ends as the parser of arguments says: with help on standard output, or a sentence on standard error.
    private static func exit(sayingWhy error: any Error, of command: any ParsableCommand.Type) -> Never {
        let code = command.exitCode(for: error)
        let message = command.message(for: error)
        if message.isEmpty {
            // A child process has said it.
        } else if code.isSuccess {
            Console.relay(message + "\n", to: 1)
        } else if code == .validationFailure {
            Console.note(UsageSentence(error, of: command, arguments: CommandLine.arguments).text)
        } else {
            Console.note(message)
        }
        Glibc.exit(code.rawValue)
    }
}
