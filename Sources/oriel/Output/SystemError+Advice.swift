import Posix

extension SystemError {
    /// Advice where a process or a thread cannot be started.
    var advice: String { limitAdvice ?? "close other programs" }
}

/// Throws a sentence where threads can hardly be started any more: SwiftNIO would trap.
func requireThreads() throws(Failure) {
    do throws(SystemError) { try Thread.require(8) } catch {
        throw Failure(.failed, "cannot start threads (\(error.reason)): \(error.advice)")
    }
}
