import Glibc
import Posix

/// This program in a process of its own, started again when it crashes.
final class SupervisedProcess {
    enum Outcome: Equatable {
        case going
        /// It has done its work.
        case done
        /// It failed at its first start, or again and again soon after one, with this exit code.
        case failed(Int32)
    }

    private enum State {
        case running(ChildProcess, since: UInt64)
        case waiting(until: UInt64)
    }

    private static let shortestDelay: UInt64 = 250_000_000
    private static let longestDelay: UInt64 = 8_000_000_000
    /// Who ran this long did its work, and is started again without delay.
    private static let trialTime: UInt64 = 10_000_000_000
    /// What stood in the way of a crashed process, such as its own port, may pass.
    private static let mostFailures = 3

    let name: String
    private let arguments: [String]
    private let laterArguments: [String]
    private let environment: [String: String]
    private let results: Results
    private var state = State.waiting(until: 0)
    private var delay = shortestDelay
    private var hasRun = false
    /// Runs in a row that gave up soon.
    private var failures = 0

    /// - Parameters:
    ///   - arguments: of this program.
    ///   - laterArguments: those after a crash; nil for the same.
    ///   - environment: variables on top of this program's own.
    init(
        _ name: String,
        arguments: [String],
        laterArguments: [String]? = nil,
        environment: [String: String] = [:]
    ) throws {
        self.name = name
        self.arguments = arguments
        self.laterArguments = laterArguments ?? arguments
        self.environment = environment
        results = try Results()
    }

    /// Starts the process if it is time, passes on what it printed, and looks whether it has ended.
    func tend(at now: UInt64) throws -> Outcome {
        switch state {
        case .waiting(let until):
            guard now >= until else { return .going }
            state = .running(try start(), since: now)
            return .going
        case .running(let child, let since):
            results.passOn()
            guard let exit = child.takeExit() else { return .going }
            results.passOn()
            results.endRun()
            return outcome(of: exit, after: now - since, at: now)
        }
    }

    private func start() throws -> ChildProcess {
        let arguments = hasRun ? laterArguments : arguments
        do {
            return try ChildProcess(
                "/proc/self/exe",
                arguments: ["oriel"] + arguments,
                environment: environment,
                output: results.writing.raw
            )
        } catch {
            throw Failure(
                .failed,
                "cannot start the \(name) (\(error)): close other programs or raise the limits of processes and files"
            )
        }
    }

    private func outcome(of exit: ChildProcess.Exit, after lived: UInt64, at now: UInt64) -> Outcome {
        if exit == .code(0) { return .done }
        if lived >= Self.trialTime {
            delay = Self.shortestDelay
            failures = 0
        } else if case .code(let code) = exit {
            failures += 1
            if !hasRun || failures == Self.mostFailures { return .failed(code) }
        }
        hasRun = true
        Console.note("the \(name) ended by \(exit): starting it again")
        state = .waiting(until: now + delay)
        delay = min(delay * 2, Self.longestDelay)
        return .going
    }

    /// Readable when the process has ended or printed something; none while it waits to be started.
    var descriptors: [Int32] {
        switch state {
        case .running(let child, _): [child.descriptor.raw, results.reading.raw]
        case .waiting: []
        }
    }

    /// When it is to be started.
    var nextDeadline: UInt64? {
        switch state {
        case .running: nil
        case .waiting(let until): until
        }
    }

    /// Ends the process, if need be by force.
    func end(patience: UInt64 = 3_000_000_000) {
        guard case .running(let child, _) = state else { return }
        child.terminate()
        waitReadable(child.descriptor.raw, until: MonotonicClock.now() + patience)
        if child.takeExit() == nil {
            child.kill()
            waitReadable(child.descriptor.raw, until: MonotonicClock.now() + patience)
            _ = child.takeExit()
        }
        state = .waiting(until: .max)
    }
}

/// What the runs of a process print. Only the first one that prints anything is heard: the others say the same.
private final class Results {
    let reading: FileDescriptor
    let writing: FileDescriptor
    private var isToldBefore = false
    private var isToldNow = false

    init() throws {
        var ends: [Int32] = [-1, -1]
        try check("pipe") { pipe(&ends) }
        reading = FileDescriptor(taking: ends[0])
        writing = FileDescriptor(taking: ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(reading.raw, F_SETFL, O_NONBLOCK)
    }

    /// Never at its end: this process holds the other end too.
    func passOn() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(reading.raw, &buffer, buffer.count)
            if count <= 0 { return }
            isToldNow = true
            if !isToldBefore { Console.relay(String(decoding: buffer[..<count], as: UTF8.self), to: 1) }
        }
    }

    func endRun() { isToldBefore = isToldNow }
}
