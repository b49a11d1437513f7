import Dispatch
import Glibc
import Posix
import Synchronization

/// Threads for jobs that wait: two for each processor, so that one may compute where another one waits.
final class WaitingThreads: TaskExecutor {
    static let shared = WaitingThreads(count: 2 * sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    private let jobs = Mutex<[UnownedJob]>([])
    /// One for each job.
    private let enqueued = DispatchSemaphore(value: 0)

    private init(count: Int) {
        for _ in 0..<count {
            do { _ = try Thread { [self] in work() } } catch { fatalError("\(error)") }
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        enqueued.signal()
    }

    private func work() -> Never {
        while true {
            enqueued.wait()
            jobs.withLock { $0.removeFirst() }.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
