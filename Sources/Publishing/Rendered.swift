import Configuration
import Glibc
import Helpers
import Posix
import Rendering
import Time
import VideoDecoding

/// What a sender shows on this machine. It is opened while files may still be opened and processes started. The windows are processes of
/// their own, which have the screen and no network.
final class Rendered {
    /// How long the last picture may take to be written.
    private static let patience = Duration.milliseconds(500)

    /// Takes what the other side of a call sends; nil if that is not shown, and before the beginning.
    private(set) var receiver: DecodingReceiver?
    private var output: Y4MOutput?
    /// Where to write what the other side sends, until the beginning; nil if that is not shown.
    private var file: FileDescriptor?
    /// What that is, for people; nil for a window.
    private let path: String?
    /// A window of the preview, which ends with this descriptor.
    private let preview: FileDescriptor?

    private init(_ file: consuming FileDescriptor?, path: String? = nil, preview: consuming FileDescriptor?) {
        self.file = file
        self.path = path
        self.preview = preview
    }

    /// - Parameter broadcast: its folder.
    /// - Returns: nil when a signal came while a pipe had no reader.
    static func prepare(
        _ settings: RenderingSettings,
        _ broadcast: String,
        until signals: borrowing TerminationSignals
    ) throws -> Rendered? {
        let preview = try settings.preview ? window(broadcast) : nil
        switch settings.render {
        case nil: return Rendered(nil, preview: preview)
        case "window": return Rendered(try window(broadcast, "--received"), preview: preview)
        case "-":
            guard isatty(1) == 0 else {
                throw Failure(.usage, "standard output is a terminal: pass pictures on to a player, or give a file")
            }
            let output = FileDescriptor(taking: try check("dup") { fcntl(1, F_DUPFD_CLOEXEC, 3) })
            return Rendered(output, path: "standard output", preview: preview)
        case let path?:
            guard let file = try open(path, until: signals) else { return nil }
            return Rendered(file, path: path, preview: preview)
        }
    }

    /// What a window needs of the environment: to find the screen and the broadcast's folder, its language and its libraries. The
    /// secrets that may be in it are not for a process that shows what others send.
    private static let variables: Set<String> = [
        "DISPLAY", "XAUTHORITY", "HOME", "XDG_RUNTIME_DIR", "TMPDIR",
        "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LD_LIBRARY_PATH",
    ]

    /// Starts a window. It ends when the descriptor that is returned is closed.
    private static func window(_ broadcast: String, _ arguments: String...) throws -> FileDescriptor {
        // By its name, people tell one preview from another.
        let name = broadcast.split(separator: "/").last ?? ""
        let words = ["view", "--name=\(name)", "--dir=\(broadcast)"]
        do throws(SystemError) {
            return try HelperProcess.silent(words + arguments, inheriting: variables)
        } catch {
            throw Failure(.failed, "cannot start a window (\(error.reason)): \(error.advice)")
        }
    }

    /// Opens a file to write to. A named pipe must have a reader first.
    private static func open(_ path: String, until signals: borrowing TerminationSignals) throws -> FileDescriptor? {
        var isWaiting = false
        while true {
            do throws(SystemError) {
                return try OutputFile.open(path, O_TRUNC | O_NONBLOCK)
            } catch {
                guard error.code == ENXIO else { throw OutputFile.failure(path, error.reason) }
            }
            if !isWaiting { Console.note("nobody reads the pipe \(path) yet: waiting for a player") }
            isWaiting = true
            waitReadable(signals.descriptor.raw, until: MonotonicClock.now() + .milliseconds(50))
            if signals.take() { return nil }
        }
    }

    func begin() throws {
        guard let file = file.take() else { return }
        let path = path
        let output = try Y4MOutput(to: file, onSizeChange: path == nil ? .beginsAnew : .scales) { error in
            // What a window has to say it says itself.
            guard let path else { return }
            Console.note(
                error.code == EPIPE
                    ? "nobody reads \(path) any more; the call goes on"
                    : "cannot write \(path) (\(error.reason)); the call goes on"
            )
        }
        self.output = output
        receiver = try DecodingReceiver {
            output.show(&$0)
        } clear: {
            output.clear()
        } report: {
            Console.note($0)
        }
    }

    func close() {
        receiver?.close()
        output?.close(until: MonotonicClock.now() + Self.patience)
    }
}
