package import Control
import Glibc
import Helpers
import JSON
package import Media
package import Posix
import Synchronization
import Time

/// The process at the desktop of the person who shares (`DesktopProcess`), as its sender sees it. It has the screen, the notifications
/// and the requests to the capture process, which the sender has not.
package final class Desktop: Sendable {
    /// What that process needs of the environment; the secrets that may be in it are not for it.
    private static let variables: Set<String> = [
        "DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "HOME", "PATH", "LANG", "LANGUAGE",
        "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LD_LIBRARY_PATH",
    ]
    private static let longestLine = 4096

    private struct State {
        var orders: DesktopOrders
        var isClosed = false
    }

    private let process: HelperProcess
    private let news: EventSignal
    private let state: Mutex<State>
    private let thread = Mutex<Thread?>(nil)

    /// Starts the process, before this one gives that up. It ends with this one.
    ///
    /// - Parameters:
    ///   - broadcast: its folder.
    ///   - display: nil for the one that DISPLAY names.
    ///   - sources: those that may be shown, in the words of the capture process.
    ///   - sounds: the paths of those that may be played.
    package init(
        of broadcast: String,
        on display: String?,
        sources: [String],
        frame: StatusFrame,
        sounds: [String]
    ) throws {
        let task = DesktopTask(
            broadcast: broadcast,
            display: display,
            sources: sources,
            frame: frame,
            sounds: sounds
        )
        state = Mutex(State(orders: DesktopOrders(task)))
        do throws(SystemError) {
            news = try EventSignal()
            process = try HelperProcess(["desktop"], inheriting: Self.variables)
        } catch {
            throw Failure(.failed, "cannot start the process at the desktop (\(error.reason)): \(error.advice)")
        }
        _ = pass()
    }

    /// Starts the thread that passes orders and answers on. Call it once the sandbox is closed.
    package func begin() throws(SystemError) {
        try thread.withLock { thread throws(SystemError) in thread = try Thread { [self] in run() } }
    }

    /// Has something done. The completion is called once, on any thread.
    package func order(_ deed: DesktopDeed, _ completion: @escaping CommandRefusal.Completion = { _ in }) {
        let now: Instant = MonotonicClock.now()
        let refusal = state.withLock { $0.orders.order(deed, at: now, completion) }
        if let refusal { completion(refusal) } else { news.set() }
    }

    /// Whether the process is gone, so that nothing can be ordered any more.
    package var hasEnded: Bool { state.withLock(\.orders.hasEnded) }

    package func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            return state.orders.end()
        }
        news.set()
        thread.withLock { $0.take() }?.join()
        for completion in waiting { completion(DesktopOrders.ended) }
    }

    // MARK: - The thread

    private func run() {
        var answers = LineReader(longest: Self.longestLine)
        while let isWaiting = pass() {
            var items = [PollItem(process.output.raw), PollItem(news.raw)]
            if isWaiting { items.append(PollItem(process.input.raw, wantsWrite: true)) }
            do { try poll(&items, until: state.withLock(\.orders.deadline)) } catch { break }
            if items[1].isReadable { news.clear() }
            for completion in state.withLock({ $0.orders.takeLate(at: MonotonicClock.now()) }) {
                completion(CommandRefusal("no_answer", "the desktop does not answer"))
            }
            guard items[0].isReadable else { continue }
            guard let lines = try? answers.read(from: process.output.raw) else { break }
            for answer in lines.compactMap({ try? DesktopAnswer(jsonLine: $0) }) {
                state.withLock { $0.orders.take(answer) }?(answer.refusal)
            }
            // Where no line ends, it is of no use any more.
            if answers.hasEnded || answers.isTooLong { break }
        }
        let (isClosed, waiting) = state.withLock { ($0.isClosed, $0.orders.end()) }
        if !isClosed {
            Console.note("the process at the desktop has ended: it shows no rings, frames and messages any more")
        }
        for completion in waiting { completion(DesktopOrders.ended) }
    }

    /// Writes what waits, as far as it is taken.
    ///
    /// - Returns: whether some waits still; nil at the end.
    private func pass() -> Bool? {
        state.withLock { state in
            if state.isClosed { return nil }
            while let line = state.orders.bytes {
                let count = line.withUnsafeBytes { Glibc.write(process.input.raw, $0.baseAddress, $0.count) }
                if count < 0 { return errno == EAGAIN ? true : nil }
                state.orders.noteTold(count)
            }
            return false
        }
    }
}
