import Configuration
import FrameBridge
import Glibc
import Helpers
import Posix
import Time

/// `start --detach`: starts the capture process in a session of its own, and waits until it broadcasts.
enum Detachment {
    private static let logFile = "log"
    private static let patience = Duration.seconds(10)

    static func start(_ settings: CaptureProcessSettings) throws {
        let directory = try BridgeDirectory(path: settings.broadcast, create: true)
        if try directory.hasWriter() {
            throw BridgeError.alreadyRunning(path: directory.path, pid: try directory.status()?.pid)
        }
        let log = "\(directory.path)/\(logFile)"
        unlink(log)
        Secret.Variable.removeAll()
        let child: ChildProcess
        do {
            let messages = try FileDescriptor.open(log, O_WRONLY | O_CREAT | O_EXCL | O_APPEND)
            let memory = try Handed.memory(of: settings)
            child = try ChildProcess(
                "/proc/self/exe",
                arguments: ["oriel", "start", Handed.flag],
                descriptors: [nil, nil, messages.raw, memory.raw],
                tie: .session
            )
        } catch {
            throw Failure(.failed, "cannot start the capture process: \(error)")
        }
        let deadline: Instant = MonotonicClock.now() + patience
        while MonotonicClock.now() < deadline {
            if let exit = child.takeExit() {
                relay(log)
                let code: Failure.Code? = if case .code(let code) = exit { Failure.Code(rawValue: code) } else { nil }
                throw Failure(code ?? .failed, "the broadcast did not start")
            }
            if let status = try directory.status(), status.pid == child.pid, status.generation != 0 {
                return relay(log)
            }
            MonotonicClock.sleep(for: .milliseconds(5))
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
