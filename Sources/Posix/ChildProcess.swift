import CPosix
import Glibc

/// A program that this process starts, and whose end it may wait for.
package final class ChildProcess {
    package enum Exit: Equatable, Sendable, CustomStringConvertible {
        case code(Int32)
        case signal(Int32)
        /// Another part of this process has waited for it.
        case unknown

        package var description: String {
            switch self {
            case .code(let code): "exit code \(code)"
            case .signal(let signal): "signal \(signal)"
            case .unknown: "an unknown cause"
            }
        }
    }

    /// The bond between the program and this process.
    package enum Tie {
        /// The program ends with this process (SIGTERM), which must have one thread, and ignores the signals that this
        /// process ignores. It has its own process group: signals of the terminal reach this process alone, which ends
        /// its children in order.
        case child
        /// The program has its own session, and outlives this process.
        case session
        /// The program is in the process group of this process, and ignores no signal.
        case group

        fileprivate var raw: posix_tie {
            switch self {
            case .child: POSIX_TIE_CHILD
            case .session: POSIX_TIE_SESSION
            case .group: POSIX_TIE_GROUP
            }
        }
    }

    package let pid: Int32
    /// Readable when the process has ended.
    package let descriptor: FileDescriptor

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - path: looked up in PATH if it has no slash.
    ///   - arguments: the program's arguments, its own name first.
    ///   - inherited: names of this process's variables that the program gets; nil for all.
    ///   - environment: variables on top of those.
    ///   - descriptors: the program's descriptors 0, 1, and so on, 16 at the most; nil for `/dev/null`.
    ///   - rules: those of `Sandbox.fileRules`, which bind the program in addition to those of this process; nil for
    ///     none.
    package init(
        _ path: String,
        arguments: [String],
        inheriting inherited: Set<String>? = nil,
        environment: [String: String] = [:],
        descriptors: [Int32?],
        tie: Tie,
        boundBy rules: Int32? = nil
    ) throws(SystemError) {
        var argv = arguments.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0)=\($1)") }
        var entry = environ
        while let pair = entry.pointee {
            let name = String(String(cString: pair).prefix { $0 != "=" })
            if environment[name] == nil, inherited?.contains(name) ?? true { variables.append(strdup(pair)) }
            entry += 1
        }
        variables.append(nil)
        defer { for text in argv + variables { free(text) } }
        var raw = descriptors.map { $0 ?? -1 }
        var child: pid_t = 0
        let code = path.withCString { path in
            argv.withUnsafeMutableBufferPointer { argv in
                variables.withUnsafeMutableBufferPointer { variables in
                    raw.withUnsafeMutableBufferPointer { raw in
                        var program = posix_program(
                            path: path,
                            arguments: argv.baseAddress!,
                            variables: variables.baseAddress!,
                            descriptors: raw.baseAddress,
                            count: Int32(raw.count),
                            tie: tie.raw,
                            rules: rules ?? -1
                        )
                        return posix_start(&child, &program)
                    }
                }
            }
        }
        if code != 0 { throw SystemError("start \(path)", code: code) }
        let end: Int32
        do throws(SystemError) {
            end = try check("pidfd_open") { posix_pidfd(child) }
        } catch {
            // A sandbox may forbid to kill it.
            if Glibc.kill(child, SIGKILL) == 0 { waitpid(child, nil, 0) }
            throw error
        }
        pid = child
        descriptor = FileDescriptor(taking: end)
    }

    /// How the process ended; nil while it runs. The result is given once.
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
