import Foundation
import Glibc
import Posix
import Synchronization
import Time

struct BenchError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A program started by the benchmark, which ends with it.
final class ChildProcess: @unchecked Sendable {  // Process guards its own state, and the rest never changes
    private static let running = Mutex<Set<Int32>>([])
    private let process = Process()
    private let output = Pipe()
    private let errors: TemporaryFolder
    private let name: String

    /// - Parameters:
    ///   - executable: A path, or a name to look for in PATH.
    ///   - environment: in addition to this process's own.
    init(
        _ executable: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        capturingOutput: Bool = false
    ) throws {
        errors = try TemporaryFolder()
        name = (executable as NSString).lastPathComponent
        let isPath = executable.contains("/")
        process.executableURL = URL(fileURLWithPath: isPath ? executable : "/usr/bin/env")
        process.arguments = isPath ? arguments : [executable] + arguments
        if !environment.isEmpty {
            process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
        }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = capturingOutput ? output : FileHandle.nullDevice
        _ = FileManager.default.createFile(atPath: errors.path + "/stderr", contents: nil)
        process.standardError = FileHandle(forWritingAtPath: errors.path + "/stderr")
        try process.run()
        let pid = process.processIdentifier
        Self.running.withLock { _ = $0.insert(pid) }
    }

    deinit { stop() }

    var pid: Int32 { process.processIdentifier }
    var isRunning: Bool { process.isRunning }
    var outputDescriptor: Int32 { output.fileHandleForReading.fileDescriptor }

    /// Its whole output.
    func outputText() -> String {
        String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    func requireRunning() throws {
        guard isRunning else { throw BenchError("\(name) ended: \(lastError)") }
    }

    func stop() {
        if process.isRunning {
            process.terminate()
            let start: Instant = MonotonicClock.now()
            while process.isRunning, secondsSince(start) < 3 { sleep(seconds: 0.005) }
            if process.isRunning { kill(pid, SIGKILL) }
            process.waitUntilExit()
        }
        let pid = pid
        Self.running.withLock { _ = $0.remove(pid) }
    }

    /// Ends it like a crash.
    func crash() {
        kill(pid, SIGKILL)
        process.waitUntilExit()
    }

    /// Its standard error so far.
    var errorText: String { (try? String(contentsOfFile: errors.path + "/stderr", encoding: .utf8)) ?? "" }

    private var lastError: String {
        errorText.split(separator: "\n").last.map(String.init) ?? "it said nothing"
    }

    /// Ends all children, and waits a little for their end.
    static func stopAll() {
        let pids = running.withLock { $0 }
        for pid in pids { kill(pid, SIGTERM) }
        let start: Instant = MonotonicClock.now()
        while pids.contains(where: { kill($0, 0) == 0 }), secondsSince(start) < 2 { sleep(seconds: 0.01) }
    }
}

/// A file of the repository that this program was built from.
func repositoryPath(_ name: String) throws -> String {
    let path = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/" + name
    guard FileManager.default.fileExists(atPath: path) else { throw BenchError("\(path) is not there") }
    return path
}

/// An executable or library built beside this one.
func sibling(_ name: String) throws -> String {
    let folder = (try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") as NSString)
        .deletingLastPathComponent
    let path = folder + "/" + name
    guard FileManager.default.isReadableFile(atPath: path) else {
        throw BenchError("\(name) is not built; run: swift build -c release --product \(name)")
    }
    return path
}
