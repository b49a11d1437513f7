import Glibc

/// A failed system call, and its `errno`.
public struct SystemError: Error, Equatable, CustomStringConvertible {
    /// The name of the call in the manual pages, such as `openat`.
    public let call: String
    /// The value of `errno`.
    public let code: Int32

    package init(_ call: String, code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    /// The system's words for the code, such as `No space left on device`.
    public var reason: String { String(cString: strerror(code)) }

    /// The call and the reason.
    public var description: String { "\(call): \(reason)" }

    /// Advice for a person if a limit of this process was met (setrlimit); nil for any other problem.
    package var limitAdvice: String? {
        switch code {
        case EFBIG: "raise the limit of files' size (ulimit -f)"
        case EMFILE: "raise the limit of open files (ulimit -n)"
        case EAGAIN where call == "pthread_create" || call.hasPrefix("start "):
            "raise the limit of processes (ulimit -u), or close other programs"
        case ENOMEM: "raise the limits of memory (ulimit -v, ulimit -d), or close other programs"
        default: nil
        }
    }
}

/// Runs a call that returns -1 and sets `errno` on failure; repeats it while a signal interrupts it.
@discardableResult
package func check<Result: SignedInteger>(
    _ name: @autoclosure () -> String,
    _ body: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = body()
        if result != -1 { return result }
        let code = errno
        if code != EINTR { throw SystemError(name(), code: code) }
    }
}
