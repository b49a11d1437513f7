package import Access
import Control
import Glibc
import Helpers
import JSON
package import Posix
import Synchronization
import Time

/// The process that asks a person who may come in (`AskingDesk`), as its sender sees it. It has the terminal and the session bus, which the
/// sender gives up; of what it says, only numbers and verbs count.
package final class Asker: Sendable {
    /// What that process needs of the environment; the secrets that may be in it are not for it.
    private static let variables: Set<String> = [
        "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "HOME", "PATH",
        "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LD_LIBRARY_PATH",
    ]
    private static let longestLine = 4096

    private struct State {
        var untold: [Question] = []
        var isClosed = false
        /// Whether the other process has ended, and whether that was told.
        var (hasEnded, isEndTold) = (false, false)
    }

    private let process: HelperProcess
    private let news: EventSignal
    private let state = Mutex(State())
    private let thread = Mutex<Thread?>(nil)

    /// The process group whose terminal this process was started from; nil if a person cannot type there and read.
    package static var terminalGroup: Int32? { isatty(0) == 1 && isatty(2) == 1 ? getpgrp() : nil }

    /// Starts the process, before this one gives that up. It ends with this one.
    ///
    /// - Parameter group: the process group whose terminal it may read; nil for none.
    /// - Returns: nil where nobody can be asked.
    package init?(terminalGroup group: Int32?) throws {
        guard group != nil || NotifySend.isPossible else { return nil }
        do throws(SystemError) {
            news = try EventSignal()
            let words = ["ask"] + (group.map { ["--terminal-group=\($0)"] } ?? [])
            process = try HelperProcess(words, inheriting: Self.variables)
        } catch {
            throw Failure(
                .failed,
                "cannot start the process that asks who may come in (\(error.reason)): \(error.advice)"
            )
        }
    }

    /// Starts the thread that passes questions and answers on. Call it once the sandbox is closed.
    package func begin(_ take: @escaping @Sendable (_ knock: Int, KnockAnswer) -> Void) throws(SystemError) {
        try thread.withLock { thread throws(SystemError) in thread = try Thread { [self] in run(take) } }
    }

    /// Has a person asked, or not any more.
    package func tell(_ event: AccessEvent) {
        guard let question = Question(event) else { return }
        let isEndNews = state.withLock { state in
            guard state.hasEnded else {
                state.untold.addUntold(question)
                return false
            }
            defer { state.isEndTold = true }
            return !state.isEndTold
        }
        if isEndNews {
            Console.note("the process that asks who may come in has ended: answer with oriel accept or oriel reject")
        }
        news.set()
    }

    package func close() {
        state.withLock { $0.isClosed = true }
        news.set()
        thread.withLock { $0.take() }?.join()
    }

    // MARK: - The thread

    private func run(_ take: (Int, KnockAnswer) -> Void) {
        var answers = LineReader(longest: Self.longestLine)
        while let isWaiting = pass() {
            var items = [PollItem(process.output.raw), PollItem(news.raw)]
            // It reads nothing for now.
            if isWaiting { items.append(PollItem(process.input.raw, wantsWrite: true)) }
            do { try poll(&items, until: nil) } catch { break }
            if items[1].isReadable { news.clear() }
            guard items[0].isReadable else { continue }
            guard let lines = try? answers.read(from: process.output.raw) else { break }
            for line in lines {
                switch try? SenderRequest(jsonLine: line) {
                case .accept(let knock): take(knock, .accepted)
                case .reject(let knock): take(knock, .rejected)
                default: break
                }
            }
            // Where no line ends, it is of no use any more.
            if answers.hasEnded || answers.isTooLong { break }
        }
        state.withLock { $0.hasEnded = true }
    }

    /// Writes the questions that wait, as far as they are taken.
    ///
    /// - Returns: whether some wait still; nil at the end.
    private func pass() -> Bool? {
        state.withLock { state in
            if state.isClosed { return nil }
            while let question = state.untold.first {
                // The kernel takes a line of less than 4096 bytes whole, or none of it (pipe(7), PIPE_BUF).
                let bytes = Array(((try? question.jsonLine()) ?? "").utf8) + [UInt8(ascii: "\n")]
                let count = bytes.withUnsafeBytes { Glibc.write(process.input.raw, $0.baseAddress, $0.count) }
                if count < 0 { return errno == EAGAIN ? true : nil }
                state.untold.removeFirst()
            }
            return false
        }
    }
}
