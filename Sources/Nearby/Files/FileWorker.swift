import Link
import Posix
import Synchronization
import TLS

/// Reads, writes and hashes the files of transfers on a thread of its own, one job after the other: a disk may be slow.
package final class FileWorker: Sendable {
    private struct State {
        var jobs: [FileJob] = []
        var results: [FileResult] = []
        var isEnding = false
    }

    /// Nil if nothing is received.
    private let inbox: String?
    private let state = Mutex(State())
    private let bell = Bell()
    private let done: EventSignal
    private let thread = Mutex<Thread?>(nil)

    init(inbox: String?) throws(SystemError) {
        self.inbox = inbox
        done = try EventSignal()
    }

    /// Readable when there are results.
    var raw: Int32 { done.raw }

    /// Adds a job; the thread starts with the first one.
    func add(_ job: FileJob) throws(SystemError) {
        state.withLock { $0.jobs.append(job) }
        bell.ring()
        try thread.withLock { thread throws(SystemError) in
            if thread == nil { thread = try Thread { [self] in run() } }
        }
    }

    func takeResults() -> [FileResult] {
        done.clear()
        return state.withLock { exchange(&$0.results, with: []) }
    }

    func close() {
        state.withLock { $0.isEnding = true }
        bell.ring()
        thread.withLock { $0.take() }?.join()
    }

    private func run() {
        var files = TransferFiles(inbox: inbox)
        while true {
            let rings = bell.count
            let (jobs, isEnding) = state.withLock { (exchange(&$0.jobs, with: []), $0.isEnding) }
            for job in jobs {
                guard let result = files.perform(job) else { continue }
                state.withLock { $0.results.append(result) }
                done.set()
            }
            if isEnding { return }
            if jobs.isEmpty { bell.wait(while: rings) }
        }
    }
}

private func exchange<Value>(_ value: inout Value, with other: Value) -> Value {
    defer { value = other }
    return value
}
