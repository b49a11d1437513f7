import CPosix
import Glibc

/// A program that ends with this one, and whose end this one waits for.
package final class ChildProcess {
    package enum Exit: Equatable, Sendable, CustomStringConvertible {
        case code(Int32)
        case signal(Int32)
        /// Somebody else took the news.
        case unknown

        package var description: String {
            switch self {
            case .code(let code): "exit code \(code)"
            case .signal(let signal): "signal \(signal)"
            case .unknown: "an unknown cause"
            }
        }
    }

    package let pid: Int32
    /// Readable when the process has ended.
    package let descriptor: FileDescriptor

    /// Starts a program with no input. Only for a process with one thread.
    ///
    /// - Parameters:
    ///   - arguments: what the program sees, its own name first.
    ///   - environment: variables on top of this program's own.
    ///   - output: what becomes its standard output; nil shares this program's.
    package init(
        _ path: String,
        arguments: [String],
        environment: [String: String] = [:],
        output: Int32? = nil
    ) throws(SystemError) {
        var argv = arguments.map { strdup($0) } + [nil]
        var variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in argv + variables { free(text) } }
        var child: pid_t = 0
        let code = posix_spawn_child(&child, path, &argv, &variables, output ?? -1)
        if code != 0 { throw SystemError("fork", code: code) }
        let raw: Int32
        do throws(SystemError) {
            raw = try check("pidfd_open") { posix_pidfd(child) }
        } catch {
            Glibc.kill(child, SIGKILL)
            waitpid(child, nil, 0)
            throw error
        }
        pid = child
        descriptor = FileDescriptor(taking: raw)
    }

    /// How the process ended; nil while it runs. The answer is given once.
    package func takeExit() -> Exit? {
        var status: Int32 = 0
        let answer = waitpid(pid, &status, WNOHANG)
        if answer == -1, errno == ECHILD { return .unknown }
        guard answer == pid else { return nil }
        let signal = status & 0x7F
        return signal == 0 ? .code(status >> 8 & 0xFF) : .signal(signal)
    }

    package func terminate() { Glibc.kill(pid, SIGTERM) }
    package func kill() { Glibc.kill(pid, SIGKILL) }
}
