import Calls
import Glibc
import Posix
import Sender
import Synchronization
import Time

/// The process that asks a person who may come in (`Ask`), as its sender sees it. It has the terminal and the session bus, which the
/// sender gives up; of what it says, only numbers and verbs count.
final class Asker: Sendable {
    /// What that process needs of the environment; the secrets that may be in it are not for it.
    private static let variables: Set<String> = [
        "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "HOME", "PATH",
        "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LD_LIBRARY_PATH",
    ]
    private static let longestLine = 4096

    private let questions: FileDescriptor
    private let answers: FileDescriptor
    private let end: EventSignal
    private let thread = Mutex<Thread?>(nil)

    /// The process group whose terminal this process was started from; nil if a person cannot type there and read.
    static var terminalGroup: Int32? { isatty(0) == 1 && isatty(2) == 1 ? getpgrp() : nil }

    /// Starts the process, before this one gives that up. It ends with this one.
    ///
    /// - Parameter group: the process group whose terminal it may read; nil for none.
    /// - Returns: nil where nobody can be asked.
    init?(terminalGroup group: Int32?) throws {
        guard group != nil || Notification.isPossible else { return nil }
        do throws(SystemError) {
            let asking = try openPipe()
            let asked = FileDescriptor(taking: asking.reading)
            questions = FileDescriptor(taking: asking.writing)
            let hearing = try openPipe()
            answers = FileDescriptor(taking: hearing.reading)
            let answering = FileDescriptor(taking: hearing.writing)
            for raw in [questions.raw, answers.raw] { _ = fcntl(raw, F_SETFL, O_NONBLOCK) }
            end = try EventSignal()
            _ = try ChildProcess(
                "/proc/self/exe",
                arguments: ["oriel", "ask"] + (group.map { ["--terminal-group=\($0)"] } ?? []),
                inheriting: Self.variables,
                descriptors: [asked.raw, answering.raw, 2],
                tie: .child
            )
        } catch {
            throw Failure(
                .failed,
                "cannot start the process that asks who may come in (\(error)): close other programs"
            )
        }
    }

    /// Starts the thread that hears the answers. Call it once the sandbox is closed.
    func begin(_ take: @escaping @Sendable (_ knock: Int, Knocks.Answer) -> Void) throws(SystemError) {
        try thread.withLock { thread throws(SystemError) in thread = try Thread { [self] in hear(take) } }
    }

    /// Has a person asked, or not any more. While that process takes nothing, the person is not.
    func tell(_ event: Lobby.Event) {
        guard let line = try? Question(event)?.jsonLine() else { return }
        // The kernel takes a line of less than 4096 bytes whole, or none of it (pipe(7), PIPE_BUF).
        let bytes = Array((line + "\n").utf8)
        _ = bytes.withUnsafeBytes { Glibc.write(questions.raw, $0.baseAddress, $0.count) }
    }

    /// Ends the thread.
    func close() {
        end.set()
        thread.withLock { $0.take() }?.join()
    }

    private func hear(_ take: (Int, Knocks.Answer) -> Void) {
        var (bytes, chunk) = ([UInt8](), [UInt8](repeating: 0, count: Self.longestLine))
        while true {
            waitReadable(answers.raw, end.raw, until: nil)
            if waitReadable(end.raw, until: .start) { return }
            let count = chunk.withUnsafeMutableBytes { buffer in
                (try? readAvailable(from: answers.raw, into: buffer)) ?? 0
            }
            // At the end, or where no line ends, it is of no use any more.
            if count == 0 || bytes.count > Self.longestLine { return }
            bytes += chunk[..<count]
            while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                switch try? SenderRequest(jsonLine: String(decoding: bytes[..<end], as: UTF8.self)) {
                case .accept(let knock): take(knock, .accepted)
                case .reject(let knock): take(knock, .rejected)
                default: break
                }
                bytes.removeSubrange(...end)
            }
        }
    }
}
