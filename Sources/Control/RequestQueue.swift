package import Posix
import Synchronization
import Time

/// Requests of commands to a process. Any thread adds one, and the process's own thread answers it.
package final class RequestQueue<Request: ControlRequest, Status: Codable & Sendable>: Sendable {
    package final class Waiting: Sendable {
        package let request: Request
        private let reply = Mutex<Reply<Status>?>(nil)
        private let bell = Bell()

        init(_ request: Request) { self.request = request }

        package func answer(_ reply: Reply<Status>) {
            self.reply.withLock { $0 = reply }
            bell.ring()
        }

        func wait(until deadline: Instant) -> Reply<Status>? {
            bell.wait(until: deadline) { reply.withLock { $0 != nil } }
            return reply.withLock(\.self)
        }
    }

    private struct State {
        var waiting: [Waiting] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let signal: EventSignal
    /// For people, such as `the recorder`.
    private let process: String

    package init(of process: String) throws(SystemError) {
        self.process = process
        signal = try EventSignal()
    }

    /// Adds a request, and waits for the answer as long as the request says. The request may still be done after that.
    package func ask(_ request: Request) -> Reply<Status> {
        let waiting = Waiting(request)
        let isOpen = state.withLock { state in
            if !state.isClosed { state.waiting.append(waiting) }
            return !state.isClosed
        }
        guard isOpen else { return .refused(reason: "\(process) is about to end") }
        wake()
        return waiting.wait(until: MonotonicClock.now() + request.patience)
            ?? .refused(reason: "\(process) does not get to run: try again, or end it with kill -KILL")
    }

    /// Wakes the thread of the process.
    package func wake() { signal.set() }

    /// Readable after `wake`.
    package var descriptor: Int32 { signal.raw }

    package func takeWaiting() -> [Waiting] {
        signal.clear()
        return state.withLock { exchange(&$0.waiting, with: []) }
    }

    /// Refuses all requests from now on.
    package func close() {
        let left = state.withLock { state in
            state.isClosed = true
            return exchange(&state.waiting, with: [])
        }
        for waiting in left { waiting.answer(.refused(reason: "\(process) has ended")) }
    }
}
