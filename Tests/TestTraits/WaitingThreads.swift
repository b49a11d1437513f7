import Dispatch
import Glibc
import Posix
import Synchronization
import Time

/// Threads for jobs that wait: two for each processor, so that one may compute where another one waits.
///
/// A free thread takes a job of the queue that has most left to do, so that all of them end at about the same time.
final class WaitingThreads: Sendable {
    fileprivate static let shared = WaitingThreads(count: 2 * sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    private let jobs = Mutex<[(queue: WaitingQueue, job: UnownedJob)]>([])
    /// One for each job.
    private let enqueued = DispatchSemaphore(value: 0)

    private init(count: Int) {
        for _ in 0..<count {
            do { _ = try Thread { [self] in work() } } catch { fatalError("\(error)") }
        }
    }

    fileprivate func enqueue(_ job: UnownedJob, of queue: WaitingQueue) {
        jobs.withLock { $0.append((queue, job)) }
        enqueued.signal()
    }

    private func work() -> Never {
        while true {
            enqueued.wait()
            let (queue, job) = jobs.withLock { jobs in
                jobs.remove(at: jobs.indices.max { jobs[$0].queue.timeLeft < jobs[$1].queue.timeLeft }!)
            }
            queue.run(job)
        }
    }
}

/// Tests that run one after the other, on threads that they share with other queues.
final class WaitingQueue: TaskExecutor {
    private let time: Mutex<Duration>

    /// - Parameter time: what its tests take in all, roughly.
    init(of time: Duration) { self.time = Mutex(time) }

    /// What those tests take that have not run yet.
    fileprivate var timeLeft: Duration { time.withLock(\.self) }

    func enqueue(_ job: consuming ExecutorJob) { WaitingThreads.shared.enqueue(UnownedJob(job), of: self) }

    fileprivate func run(_ job: UnownedJob) {
        let start = MonotonicClock.now()
        job.runSynchronously(on: asUnownedTaskExecutor())
        time.withLock { $0 -= MonotonicClock.now() - start }
    }
}
