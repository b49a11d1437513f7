import CPosix
import Glibc

/// A program in a session of its own, which outlives the one that started it.
package struct DetachedProcess {
    package let pid: Int32

    /// Starts a program with no input; its messages (standard error) go to `log`, which must not be there yet.
    ///
    /// - Parameter arguments: what the program sees, its own name first.
    package init(_ path: String, arguments: [String], log: String) throws(SystemError) {
        var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for argument in argv { free(argument) } }
        var child: pid_t = 0
        let code = posix_spawn_detached(&child, path, &argv, log)
        if code != 0 { throw SystemError("posix_spawn", code: code) }
        pid = child
    }

    /// The exit code if the program has ended; 128 plus the signal's number if a signal ended it.
    package func exitCode() -> Int32? {
        var status: Int32 = 0
        guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }

    package func terminate() { kill(pid, SIGTERM) }
}
