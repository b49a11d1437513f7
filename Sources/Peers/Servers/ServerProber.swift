import Glibc
package import ICE
package import Posix
import Synchronization
import Time

/// Probes the STUN and TURN servers that calls use, on a thread of its own. Close it: until then its thread keeps it alive.
package final class ServerProber: Sendable {
    private struct State {
        var hasNetworkChanged = false
        var isInDoubt = false
        var isClosed = false
        /// The latest result of each server that was probed.
        var known: [ServerNews]
    }

    private let servers: [WatchedServer]
    private let repeats: Bool
    private let tell: @Sendable ([ServerNews], [ICEServer]) -> Void
    private let state: Mutex<State>
    private let waker: EventSignal
    private let thread = Mutex<Thread?>(nil)

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - known: results of earlier probers.
    ///   - repeats: whether servers are probed again. If not, the thread ends by itself.
    ///   - tell: is called on that thread after each probe, with the results that have changed, and all servers that are silent.
    package init(
        _ servers: [WatchedServer],
        knowing known: [ServerNews] = [],
        repeats: Bool = true,
        tell: @escaping @Sendable (_ news: [ServerNews], _ silent: [ICEServer]) -> Void
    ) throws(SystemError) {
        (self.servers, self.repeats, self.tell) = (servers, repeats, tell)
        state = Mutex(State(known: known.filter { news in servers.contains { $0.name == news.server.name } }))
        waker = try EventSignal()
        try thread.withLock { thread throws(SystemError) in thread = try Thread { [self] in run() } }
    }

    /// The latest results of the servers that do not work.
    package var faults: [ServerNews] { known.filter { $0.result != .works } }

    /// The latest result of each server that was probed.
    package var known: [ServerNews] { state.withLock(\.known) }

    /// The machine's addresses or routes have changed: all servers are probed again.
    package func networkChanged() { wake { $0.hasNetworkChanged = true } }

    /// Somebody has waited for a server in vain, or does without one.
    package func doubt() { wake { $0.isInDoubt = true } }

    /// Ends the thread. Further calls do nothing.
    package func close() {
        wake { $0.isClosed = true }
        thread.withLock { $0.take() }?.join()
    }

    private func wake(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
        waker.set()
    }

    // MARK: - The thread

    private func run() {
        let known = known
        let results = servers.map { server in
            known.first { $0.server.name == server.name }.map { ($0.result, $0.since) }
        }
        var watch = ServerWatch(results, repeats: repeats, now: MonotonicClock.now())
        var attempts: [Int: ProbeAttempt] = [:]
        while true {
            let now: Instant = MonotonicClock.now()
            let asked = state.withLock { state in
                defer { (state.hasNetworkChanged, state.isInDoubt) = (false, false) }
                return state
            }
            if asked.isClosed { return }
            if asked.hasNetworkChanged { watch.networkChanged(at: now) }
            if asked.isInDoubt { watch.doubt(at: now) }
            for index in watch.takeDue(at: now) {
                do throws(SystemError) {
                    attempts[index] = try ProbeAttempt(servers[index].server, at: now)
                    attempts[index]?.advance(isReadable: false, at: now)
                } catch {
                    note(error.isShortage ? nil : .noAnswer, of: index, in: &watch, at: now)
                }
            }
            for (index, attempt) in attempts {
                guard let result = attempt.result else { continue }
                attempts[index] = nil
                note(result, of: index, in: &watch, at: now)
            }
            if attempts.isEmpty, watch.deadline == nil, !repeats { return }
            wait(for: attempts, until: earliest(watch.deadline, attempts.values.compactMap(\.deadline).min()))
        }
    }

    private func wait(for attempts: [Int: ProbeAttempt], until deadline: Instant?) {
        let attempts = Array(attempts.values)
        var items = [PollItem(waker.raw)] + attempts.map(\.descriptor)
        try? poll(&items, until: deadline)
        if items[0].isReadable { waker.clear() }
        let now: Instant = MonotonicClock.now()
        for (attempt, item) in zip(attempts, items.dropFirst()) {
            attempt.advance(isReadable: item.isReadable, at: now)
        }
    }

    private func note(_ result: ServerProbe.Result?, of index: Int, in watch: inout ServerWatch, at now: Instant) {
        var result = result
        if result == .noAnswer, let why = servers[index].obstacle() { result = .unreachable(why: why) }
        let isNews = watch.note(result, of: index, at: now)
        let known = servers.indices.compactMap { index in
            watch[index].map { ServerNews(server: servers[index], result: $0.result, since: $0.since) }
        }
        state.withLock { $0.known = known }
        let news = isNews ? result.map { [ServerNews(server: servers[index], result: $0, since: now)] } : nil
        tell(news ?? [], known.filter(\.result.isSilence).map(\.server.server))
    }
}

extension SystemError {
    /// Whether this machine is short of something, and the other one is not to blame.
    fileprivate var isShortage: Bool { [EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN].contains(code) }
}
