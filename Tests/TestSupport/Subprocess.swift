package import Glibc
package import Posix

/// A program that a test starts, and that is killed and reaped at the latest when its owner goes.
///
/// Its standard output and error go to files, so that a chatty program never blocks on its test.
package final class Subprocess {
    package let pid: pid_t
    private let directory: TemporaryDirectory
    private var exit: Exit?

    package enum Exit: Equatable, Sendable {
        case code(Int32)
        case signal(Int32)
    }

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
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_addopen(&actions, 1, directory.file("out"), O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, directory.file("err"), O_WRONLY | O_CREAT, 0o600)
        if let descriptor { posix_spawn_file_actions_adddup2(&actions, descriptor, 3) }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A signal mask and ignored signals would be inherited otherwise, and the program might not hear SIGTERM.
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var variables: [String: String] = [:]
        var entry = environ
        while let pair = entry.pointee {
            let text = String(cString: pair)
            let name = text.prefix { $0 != "=" }
            variables[String(name)] = String(text.dropFirst(name.count + 1))
            entry += 1
        }
        variables.merge(environment) { _, new in new }

        let argv = arguments.map { strdup($0) } + [nil]
        let envp = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var pid = pid_t()
        let code = posix_spawnp(&pid, arguments[0], &actions, &attributes, argv, envp)
        guard code == 0 else { throw SystemError("posix_spawn \(arguments[0])", code: code) }
        self.pid = pid
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
        if exit == nil {
            var status: Int32 = 0
            if waitpid(pid, &status, WNOHANG) == pid { exit = Exit(status) }
        }
        return exit
    }

    /// Waits for the end of the program.
    @discardableResult
    package func wait(timeout: Duration = .seconds(30)) throws -> Exit {
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

extension Subprocess.Exit {
    fileprivate init(_ status: Int32) {
        let signal = status & 0x7f
        self = signal == 0 ? .code(status >> 8 & 0xff) : .signal(signal)
    }
}
