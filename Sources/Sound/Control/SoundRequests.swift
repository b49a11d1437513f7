package import Control
package import Posix
import Synchronization
import Time

/// Requests of commands to the sound process. Any thread adds one, and the process's own thread answers it.
package final class SoundRequests: Sendable {
    final class Waiting: Sendable {
        let request: SoundRequest
        private let reply = Mutex<SoundReply?>(nil)
        private let bell = Bell()

        init(_ request: SoundRequest) { self.request = request }

        func answer(_ reply: SoundReply) {
            self.reply.withLock { $0 = reply }
            bell.ring()
        }

        func wait(until deadline: Instant) -> SoundReply? {
            bell.wait(until: deadline) { reply.withLock { $0 != nil } }
            return reply.withLock(\.self)
        }
    }

    private static let patience = Duration.seconds(2)

    private struct State {
        var waiting: [Waiting] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let signal: EventSignal

    package init() throws(SystemError) { signal = try EventSignal() }

    /// Adds a request, and waits up to two seconds for the answer. The request may still be done after that.
    package func ask(_ request: SoundRequest) -> SoundReply {
        let waiting = Waiting(request)
        let isOpen = state.withLock { state in
            if !state.isClosed { state.waiting.append(waiting) }
            return !state.isClosed
        }
        guard isOpen else { return .refused(reason: "the sound process is about to end") }
        wake()
        return waiting.wait(until: MonotonicClock.now() + Self.patience)
            ?? .refused(reason: "the sound process does not get to run: try again, or end it with kill")
    }

    /// Wakes the thread of the process.
    func wake() { signal.set() }

    /// Readable after `wake`.
    var descriptor: Int32 { signal.raw }

    func takeWaiting() -> [Waiting] {
        signal.clear()
        return state.withLock { exchange(&$0.waiting, with: []) }
    }

    /// Refuses all requests from now on.
    func close() {
        let left = state.withLock { state in
            state.isClosed = true
            return exchange(&state.waiting, with: [])
        }
        for waiting in left { waiting.answer(.refused(reason: "the sound process has ended")) }
    }
}
