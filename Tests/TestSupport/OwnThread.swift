import Dispatch
package import Testing

/// Runs the tests of a suite on a thread of its own, from the start. Tests that share the common threads are taken in turn, level by
/// level: those of deep suites begin when all others have ended, and then wait on a machine that has nothing else to do.
package struct OwnThread: SuiteTrait, TestScoping {
    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(SerialQueue()) { try await function() }
    }

    private final class SerialQueue: TaskExecutor {
        private let queue = DispatchQueue(label: "suite")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}

extension Trait where Self == OwnThread {
    package static var onItsOwnThread: Self { Self() }
}
