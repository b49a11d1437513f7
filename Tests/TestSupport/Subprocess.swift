package import Glibc
package import Posix
import Synchronization

/// A program that a test starts, and that is killed and reaped at the latest when its owner goes.
///
/// Its standard output and error go to files, so that a chatty program never blocks on its test.
package final class Subprocess {
    private let child: ChildProcess
    private let directory: TemporaryDirectory
    private let standardOutput: Mutex<WrittenText>
    private let standardError: Mutex<WrittenText>
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
        let paths = (output: directory.file("out"), errors: directory.file("err"))
        standardOutput = Mutex(WrittenText(path: paths.output))
        standardError = Mutex(WrittenText(path: paths.errors))
        let flags = O_WRONLY | O_CREAT
        let output = try FileDescriptor.open(paths.output, flags)
        let errors = try FileDescriptor.open(paths.errors, flags)
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

    /// Stops the program by a signal, and waits until it stands still.
    package func suspend() throws {
        kill(SIGSTOP)
        try TestSupport.wait(until: "process \(pid) stands still") { try isSuspended }
    }

    /// Whether a signal has stopped it, with all its threads.
    package var isSuspended: Bool {
        get throws {
            let threads = try FileDescriptor.open("/proc/\(pid)/task", O_RDONLY | O_DIRECTORY).entries()
            return threads.filter { Int($0) != nil }.allSatisfy { thread in
                let bytes = try? FileDescriptor.open("/proc/\(pid)/task/\(thread)/stat", O_RDONLY).readBytes(1024)
                // One that has ended meanwhile stands still.
                return bytes.map { String(decoding: $0, as: UTF8.self).contains(") T ") } ?? true
            }
        }
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
    package var output: String { standardOutput.withLock { $0.all() } }

    /// What it has written to standard error so far.
    package var errorOutput: String { standardError.withLock { $0.all() } }

    /// The whole lines of its standard output so far, of one reading. One that is still being written is not among them.
    package var outputLines: [Substring] { standardOutput.withLock { $0.wholeLines() } }

    /// The same of standard error.
    package var errorLines: [Substring] { standardError.withLock { $0.wholeLines() } }

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

/// The text of a file that a program writes from front to back. Tests ask for it again and again: each byte is read once, and
/// each line is decoded once.
private struct WrittenText {
    private static let newline = UInt8(ascii: "\n")
    private let path: String
    /// Of whole lines.
    private var text = ""
    /// Those of `text` that are not empty.
    private var lines: [Substring] = []
    /// Of a line that is still being written: its last character may not be whole.
    private var rest: [UInt8] = []
    private var bytesRead = 0

    init(path: String) { self.path = path }

    mutating func all() -> String {
        readOn()
        return rest.isEmpty ? text : text + String(decoding: rest, as: UTF8.self)
    }

    mutating func wholeLines() -> [Substring] {
        readOn()
        return lines
    }

    private mutating func readOn() {
        guard let file = try? FileDescriptor.open(path, O_RDONLY), let size = try? file.status().st_size,
            let bytes = try? file.readBytes(max(0, Int(size) - bytesRead), at: bytesRead)
        else { return }
        bytesRead += bytes.count
        guard let end = bytes.lastIndex(of: Self.newline) else {
            rest += bytes
            return
        }
        let whole = String(decoding: rest + bytes[...end], as: UTF8.self)
        rest = Array(bytes[(end + 1)...])
        text += whole
        lines += whole.utf8.split(separator: Self.newline).map { Substring($0) }
    }
}

package struct SubprocessFailure: Error {
    package let arguments: [String]
    package let exit: Subprocess.Exit
    package let errorOutput: String
}
