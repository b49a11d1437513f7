import Glibc
import Posix
import Testing
import Time

/// Notes in the file that `ORIEL_TEST_TIMES` names how long each case took once it had a thread: what Swift Testing tells includes the wait for
/// one. `tools/test` shows the slowest.
struct Measured: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil, let file = getenv("ORIEL_TEST_TIMES") else { return try await function() }
        let start = MonotonicClock.now()
        defer { Self.note(test, MonotonicClock.now() - start, in: String(cString: file)) }
        try await function()
    }

    /// In one write, as two queues may end a test at once.
    private static func note(_ test: Test, _ time: Duration, in file: String) {
        let suite = test.sourceLocation.fileName.prefix { $0 != "." }
        let name = test.name.prefix { $0 != "(" }
        try? FileDescriptor.open(file, O_WRONLY | O_CREAT | O_APPEND).write("\(time.seconds)\t\(suite).\(name)\n")
    }
}

extension Trait where Self == Measured {
    static var measured: Self { Self() }
}
