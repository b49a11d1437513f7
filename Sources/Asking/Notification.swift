import Glibc
import Helpers
import JSON
import Posix

/// A notification of the desktop with two buttons, shown by notify-send (libnotify).
///
/// It stays as long as somebody waits, also where the server takes others away sooner. Text from others is shown as it is: its markup is
/// escaped, and it cannot be an option of notify-send.
final class Notification {
    private static let (accept, reject) = ("accept", "reject")

    let knock: Int
    /// Whether nothing is clicked any more: a button was, or the notification is gone.
    private(set) var isOver = false
    private let program: ChildProcess
    private let output: FileDescriptor
    private var clicks = LineReader(longest: 256)

    /// Nil where there is no notify-send.
    init?(_ knock: Question.Knock, by notifySend: NotifySend) {
        self.knock = knock.id
        do throws(SystemError) {
            let clicks = try openPipe()
            output = FileDescriptor(taking: clicks.reading)
            let writing = FileDescriptor(taking: clicks.writing)
            _ = fcntl(output.raw, F_SETFL, O_NONBLOCK)
            program = try notifySend.show(
                "Somebody asks to look in",
                Self.body(knock),
                options: ["--expire-time=0", "--action=\(Self.accept)=Accept", "--action=\(Self.reject)=Reject"],
                output: writing.raw
            )
        } catch {
            return nil
        }
    }

    /// Readable when a button was clicked, or the notification is gone.
    var descriptor: Int32 { output.raw }

    /// The button that was clicked; nil if none was.
    func take() -> Verdict? {
        guard let lines = try? clicks.read(from: output.raw, limit: 256) else { return nil }
        isOver = !lines.isEmpty || clicks.hasEnded || clicks.isTooLong
        return switch lines.first {
        case Self.accept: .accept
        case Self.reject: .reject
        default: nil
        }
    }

    /// Takes it from the screen. notify-send does so only at SIGINT; at other signals it ends and leaves the notification.
    func close() {
        if !isOver { kill(program.pid, SIGINT) }
        isOver = true
    }

    var hasEnded: Bool { program.takeExit() != nil }

    static func body(_ knock: Question.Knock) -> String {
        "\(knock.who.spellingOutControls())\noriel accept \(knock.id)"
    }
}
