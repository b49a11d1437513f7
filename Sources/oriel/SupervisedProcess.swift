import Glibc
import Posix

/// This program in a process of its own, started again when it crashes.
final class SupervisedProcess {
    enum Outcome: Equatable {
        case going
        /// It has done its work.
        case done
        /// It failed soon after its start, with this exit code, and would fail again.
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

    let name: String
    private let arguments: [String]
    private var state = State.waiting(until: 0)
    private var delay = shortestDelay
    private var hasRun = false

    /// - Parameter arguments: of this program.
    init(_ name: String, arguments: [String]) {
        self.name = name
        self.arguments = ["oriel"] + arguments
    }

    /// Starts the process if it is time, and looks whether it has ended.
    func tend(at now: UInt64) throws -> Outcome {
        switch state {
        case .waiting(let until):
            guard now >= until else { return .going }
            // What it prints, it has printed the first time.
            let child = try ChildProcess("/proc/self/exe", arguments: arguments, isSilent: hasRun)
            state = .running(child, since: now)
            return .going
        case .running(let child, let since):
            guard let exit = child.takeExit() else { return .going }
            if exit == .code(0) { return .done }
            let lived = now - since
            if case .code(let code) = exit, !hasRun { return .failed(code) }
            hasRun = true
            if lived >= Self.trialTime { delay = Self.shortestDelay }
            Console.note("the \(name) ended by \(exit): starting it again")
            state = .waiting(until: now + delay)
            delay = min(delay * 2, Self.longestDelay)
            return .going
        }
    }

    /// Readable when the process has ended; nil while it waits to be started.
    var descriptor: Int32? {
        switch state {
        case .running(let child, _): child.descriptor.raw
        case .waiting: nil
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
        waitReadable([child.descriptor.raw], until: MonotonicClock.now() + patience)
        if child.takeExit() == nil {
            child.kill()
            waitReadable([child.descriptor.raw], until: MonotonicClock.now() + patience)
            _ = child.takeExit()
        }
        state = .waiting(until: .max)
    }
}
