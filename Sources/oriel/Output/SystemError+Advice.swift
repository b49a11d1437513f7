import Glibc
import Posix

extension SystemError {
    /// Advice where a process or a thread cannot be started.
    var advice: String { limitAdvice ?? "close other programs" }

    /// Advice where a limit of the system is met; nil for any other problem.
    var limitAdvice: String? {
        switch code {
        case EFBIG: "raise the limit of files' size (ulimit -f)"
        case EMFILE: "raise the limit of open files (ulimit -n)"
        case EAGAIN: "raise the limit of processes (ulimit -u), or close other programs"
        case ENOMEM: "raise the limit of memory (ulimit -v), or close other programs"
        default: nil
        }
    }
}

/// Throws a sentence where threads can hardly be started any more: SwiftNIO would trap.
func requireThreads() throws(Failure) {
    do throws(SystemError) { try Thread.require(8) } catch {
        throw Failure(.failed, "cannot start threads (\(error.reason)): \(error.advice)")
    }
}
