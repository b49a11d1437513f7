package import Glibc
package import Posix

/// A program that a test starts, and that is killed and reaped at the latest when its owner goes.
///
/// Its standard output and error go to files, so that a chatty program never blocks on its test.
package final class Subprocess {
    private let child: ChildProcess
    private let directory: TemporaryDirectory
    private var exit: Exit?

    package enum Exit: Equatable, Sendable {
        case code(Int32)
        case signal(Int32)
    }

    package var pid: pid_t { child.pid }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - arguments: the program, looked up in PATH, and its arguments.
    ///   - environment: variables to set on top of the test's own.
    ///   - input: a descriptor that the program reads its standard input from; nil gives it none.
    ///   - descriptor: a descriptor that the program gets under number 3.
    package init(
        _ arguments: [String],
        environment: [String: String] = [:],
        input: Int32? = nil,
        passing descriptor: Int32? = nil
    ) throws(SystemError) {
        directory = try TemporaryDirectory()
        let flags = O_WRONLY | O_CREAT
        let output = try FileDescriptor.open(directory.file("out"), flags)
        let errors = try FileDescriptor.open(directory.file("err"), flags)
        var descriptors = [input, output.raw, errors.raw]
        if let descriptor { descriptors.append(descriptor) }
        child = try ChildProcess(
            arguments[0],
            arguments: arguments,
            environment: environment,
            descriptors: descriptors,
            tie: .group
        )
    }

    deinit {
        if status() == nil {
            kill(SIGKILL)
            waitpid(pid, nil, 0)
        }
    }

    /// Sends a signal, if the program still runs.
    package func kill(_ signal: Int32) {
        if status() == nil { Glibc.kill(pid, signal) }
    }

    /// How the program ended; nil while it runs.
    package func status() -> Exit? {
        if exit == nil, let end = child.takeExit() {
            exit =
                switch end {
                case .code(let code): .code(code)
                case .signal(let signal): .signal(signal)
                case .unknown: preconditionFailure("somebody else waited for process \(pid)")
                }
        }
        return exit
    }

    /// Waits for the end of the program.
    @discardableResult
    package func wait(timeout: Duration = patience) throws -> Exit {
        try TestSupport.wait(until: "process \(pid) ends", timeout: timeout) { status() != nil }
        return exit!
    }

    /// Ends the program, stopped or not: SIGTERM, and SIGKILL if it does not listen within the timeout.
    package func stop(timeout: Duration = .seconds(5)) {
        kill(SIGTERM)
        kill(SIGCONT)
        if (try? wait(timeout: timeout)) != nil { return }
        kill(SIGKILL)
        _ = try? wait()
    }

    /// What it has written to standard output so far.
    package var output: String { contents("out") }

    /// What it has written to standard error so far.
    package var errorOutput: String { contents("err") }

    /// The whole lines of its standard output so far, of one reading. One that is still being written is not among them.
    package var outputLines: [Substring] { Self.wholeLines(of: output) }

    /// The same of standard error.
    package var errorLines: [Substring] { Self.wholeLines(of: errorOutput) }

    private static func wholeLines(of text: String) -> [Substring] {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().filter { !$0.isEmpty }
    }

    private func contents(_ name: String) -> String {
        guard let file = try? FileDescriptor.open(directory.file(name), O_RDONLY),
            let size = try? file.status().st_size
        else { return "" }
        var bytes = [UInt8](repeating: 0, count: Int(size))
        let count = (try? bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }) ?? 0
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// Runs a program to its end and returns its standard output. Throws `SubprocessFailure` unless it exits with 0.
    @discardableResult
    package static func run(_ arguments: [String], environment: [String: String] = [:]) throws -> String {
        let program = try Subprocess(arguments, environment: environment)
        let exit = try program.wait()
        if exit != .code(0) {
            throw SubprocessFailure(arguments: arguments, exit: exit, errorOutput: program.errorOutput)
        }
        return program.output
    }
}

package struct SubprocessFailure: Error {
    package let arguments: [String]
    package let exit: Subprocess.Exit
    package let errorOutput: String
}
