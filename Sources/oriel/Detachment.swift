import FrameBridge
import Glibc
import Posix

/// `start --detach`: runs the same command line again in a session of its own and waits until it broadcasts.
enum Detachment {
    private static let logFile = "log"
    private static let patience: UInt64 = 10_000_000_000

    static func start(_ broadcast: BroadcastOptions) throws {
        let directory = try broadcast.directory(create: true)
        if try directory.hasWriter() {
            throw Failure(BridgeError.alreadyRunning(path: directory.path, pid: try directory.status()?.pid))
        }
        let log = "\(directory.path)/\(logFile)"
        unlink(log)
        let child: DetachedProcess
        do {
            let arguments = CommandLine.arguments.filter { $0 != "--detach" }
            child = try DetachedProcess("/proc/self/exe", arguments: arguments, log: log)
        } catch {
            throw Failure(.failed, "cannot start the capture process: \(error)")
        }
        let deadline = MonotonicClock.now() + patience
        while MonotonicClock.now() < deadline {
            if let code = child.exitCode() {
                relay(log)
                throw Failure(Failure.Code(rawValue: code) ?? .failed, "the broadcast did not start")
            }
            if let status = try directory.status(), status.pid == child.pid, status.generation != 0 {
                return relay(log)
            }
            MonotonicClock.sleep(until: MonotonicClock.now() + 5_000_000)
        }
        child.terminate()
        throw Failure(.failed, "the broadcast was not live after 10 s: see \(log)")
    }

    /// Shows what the capture process has said so far.
    private static func relay(_ log: String) {
        guard let file = try? FileDescriptor.open(log, O_RDONLY), let bytes = try? file.readBytes(65536) else { return }
        Console.relay(String(decoding: bytes, as: UTF8.self), to: 2)
    }
}
