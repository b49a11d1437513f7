import FrameBridge
import Glibc
import Posix
import Time

/// `start --detach`: runs the same command line again in a session of its own and waits until it broadcasts.
enum Detachment {
    private static let logFile = "log"
    private static let patience = Duration.seconds(10)

    static func start(_ broadcast: BroadcastOptions) throws {
        let directory = try broadcast.directory(create: true)
        if try directory.hasWriter() {
            throw BridgeError.alreadyRunning(path: directory.path, pid: try directory.status()?.pid)
        }
        let log = "\(directory.path)/\(logFile)"
        unlink(log)
        let child: ChildProcess
        do {
            let messages = try FileDescriptor.open(log, O_WRONLY | O_CREAT | O_EXCL | O_APPEND)
            child = try ChildProcess(
                "/proc/self/exe",
                arguments: CommandLine.arguments.filter { $0 != "--detach" },
                descriptors: [nil, nil, messages.raw],
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
