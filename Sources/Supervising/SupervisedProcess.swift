package import Configuration
import Glibc
import Helpers
import JSON
import Posix
import Time

/// A child process that runs this program, and can be started again.
package final class SupervisedProcess {
    private let name: String
    private let command: String
    private var settings: any ProcessSettings
    private let results: Results
    private var child: ChildProcess?

    /// - Parameter command: of this program.
    package init(_ name: String, _ command: String, _ settings: any ProcessSettings) throws {
        (self.name, self.command, self.settings) = (name, command, settings)
        results = try Results()
    }

    func start(isFirst: Bool) throws {
        settings.goesOn = !isFirst
        do {
            let memory = try Handed.memory(of: settings)
            child = try ChildProcess(
                "/proc/self/exe",
                arguments: ["oriel", command, Handed.flag],
                descriptors: [nil, results.writing.raw, 2, memory.raw],
                tie: .child
            )
        } catch {
            throw Failure(.failed, "cannot start the \(name) (\(error.reason)): \(error.advice)")
        }
    }

    func terminate() { child?.terminate() }
    func kill() { child?.kill() }

    /// Passes on what the process printed, as far as standard output takes it. Returns how the process has ended, once; nil while
    /// it runs.
    func tend() -> ChildProcess.Exit? {
        results.passOn()
        guard let exit = child?.takeExit() else { return nil }
        child = nil
        // The process may have printed something just before it ended.
        results.passOn()
        results.endRun()
        return exit
    }

    func tellOfCrash(_ exit: ChildProcess.Exit) { Console.note("the \(name) ended by \(exit): starting it again") }

    /// Why it is not started again after that many runs that ended soon.
    func failure(by exit: ChildProcess.Exit, times: Int) -> Failure {
        let advice = "see whether a limit of the system is too low (ulimit -a)"
        return Failure(.failed, "the \(name) ended by \(exit) \(times) times in a row, soon after its start: \(advice)")
    }

    /// Readable when the process has ended or printed something; none while it does not run.
    var descriptors: [Int32] { child.map { [$0.descriptor.raw, results.reading.raw] } ?? [] }

    /// Whether something that the process printed waits until standard output takes it.
    var hasBacklog: Bool { results.hasBacklog }
}

/// What the runs of a process print. Only the first run that prints anything is passed on: the others print the same.
private final class Results {
    /// How many bytes may wait for standard output; more are lost.
    private static let longestBacklog = 65536

    let reading: FileDescriptor
    let writing: FileDescriptor
    private var isToldBefore = false
    private var isToldNow = false
    private var backlog: [UInt8] = []

    init() throws {
        let ends = try openPipe()
        reading = FileDescriptor(taking: ends.reading)
        writing = FileDescriptor(taking: ends.writing)
        _ = fcntl(reading.raw, F_SETFL, O_NONBLOCK)
    }

    var hasBacklog: Bool { !backlog.isEmpty }

    /// Reads what is there. The pipe never reports end of file, because this process keeps the writing end open.
    func passOn() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(reading.raw, &buffer, buffer.count)
            if count <= 0 { break }
            isToldNow = true
            if isToldBefore || backlog.count >= Self.longestBacklog { continue }
            backlog += String(decoding: buffer[..<count], as: UTF8.self).spellingOutControls(except: "\n").utf8
        }
        Console.offer(&backlog)
    }

    func endRun() { isToldBefore = isToldNow }
}
