import Glibc
import Posix
package import Testing
import Time

/// For tests that wait most of the time, as for programs that they drive.
///
/// They run on threads of their own, and take no thread of the common pool, which has one for each processor.
package struct Waits: SuiteTrait, TestTrait, TestScoping {
    package let isRecursive = true
    private let queue: WaitingQueue

    fileprivate init(_ queue: WaitingQueue) { self.queue = queue }

    /// Notes in the file that `ORIEL_TEST_TIMES` names how long each case took once it had a thread: what Swift Testing tells includes the
    /// wait for one. `tools/test` shows the slowest.
    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await withTaskExecutorPreference(queue) {
            guard let file = getenv("ORIEL_TEST_TIMES") else { return try await function() }
            let start = MonotonicClock.now()
            defer { Self.note(test, MonotonicClock.now() - start, in: String(cString: file)) }
            try await function()
        }
    }

    /// In one write, as two threads may end a test at once.
    private static func note(_ test: Test, _ time: Duration, in file: String) {
        let suite = test.sourceLocation.fileName.prefix { $0 != "." }
        let name = test.name.prefix { $0 != "(" }
        try? FileDescriptor.open(file, O_WRONLY | O_CREAT | O_APPEND).write("\(time.seconds)\t\(suite).\(name)\n")
    }
}

extension Trait where Self == Waits {
    /// - Parameter seconds: what the tests of a suite take in all, roughly: the suite with most left goes first.
    package static func waits(seconds: Int) -> Self { Self(WaitingQueue(of: .seconds(seconds))) }
}
