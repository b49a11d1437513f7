package import FrameBridge
import JSON
import Posix
package import Time

/// A request to a running process. Its reply is not trusted: the process may have been taken over, hang, or be dead.
package final class ControlClient<Status: Codable & Sendable> {
    package let process: ControlledProcess
    private let replyLimit: Int
    private let channel: Result<LineChannel, ControlError>

    /// Sends a request, without waiting for the reply.
    ///
    /// - Parameters:
    ///   - replyLimit: bytes of the longest reply that is accepted.
    ///   - channel: connects to the process.
    init(
        to process: ControlledProcess,
        asking request: some ControlRequest,
        until deadline: Instant,
        replyLimit: Int,
        by channel: () throws -> LineChannel
    ) {
        (self.process, self.replyLimit) = (process, replyLimit)
        do {
            let channel = try channel()
            try channel.send(try request.jsonLine(), until: deadline)
            self.channel = .success(channel)
        } catch {
            self.channel = .failure(ControlError(error, of: process))
        }
    }

    /// Waits for the reply. Call it, or one of the following methods, once.
    package func reply(until deadline: Instant) throws(ControlError) -> Reply<Status> {
        switch channel {
        case .failure(let error): throw error
        case .success(let channel):
            do { return try Reply(jsonLine: try channel.receive(limit: replyLimit, until: deadline)) } catch {
                throw ControlError(error, of: process)
            }
        }
    }

    @discardableResult
    package func done(until deadline: Instant) throws(ControlError) -> Visitor? {
        switch try reply(until: deadline) {
        case .done(let visitor): return visitor
        case .refused(let reason): throw .refused(reason: reason)
        case .status: throw .babbles(process)
        }
    }

    package func status(until deadline: Instant) throws(ControlError) -> Status {
        switch try reply(until: deadline) {
        case .status(let status): return status
        case .refused(let reason): throw .refused(reason: reason)
        case .done: throw .babbles(process)
        }
    }
}

package typealias SenderClient = ControlClient<SenderSnapshot>

extension SenderClient {
    /// The longest time of one request to all senders.
    package static var patience: Duration { .seconds(2) }

    package convenience init(to folder: ProcessFolder, asking request: SenderRequest, until deadline: Instant) {
        // A reply may list thousands of viewers.
        self.init(to: .sender(pid: folder.pid), asking: request, until: deadline, replyLimit: 4 << 20) {
            // A sender that accepts no connection must leave time for the others.
            try folder.connect(until: min(deadline, MonotonicClock.now() + .milliseconds(100)))
        }
    }
}

/// The sound process of a broadcast, for commands.
package struct SoundClient {
    private static let patience = Duration.seconds(3)

    private let directory: BridgeDirectory

    package init(of directory: BridgeDirectory) { self.directory = directory }

    /// The folders of sounds that the process may play, of the user, of the machine and of the system (XDG Base Directory Specification).
    package static var folders: [String] {
        let home = StateFolder.environment("HOME")
        let own = StateFolder.environment("XDG_DATA_HOME") ?? home.map { "\($0)/.local/share" }
        let shared = StateFolder.environment("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share"
        return ([own].compactMap(\.self) + shared.split(separator: ":").map(String.init)).map { "\($0)/sounds" }
    }

    /// - Parameter end: when to give up, if not after the usual time.
    package func ask(for request: SoundRequest, until end: Instant? = nil) throws(ControlError) {
        let deadline = end ?? MonotonicClock.now() + Self.patience
        try client(asking: request, until: deadline).done(until: deadline)
    }

    package func status() throws(ControlError) -> SoundSnapshot {
        let deadline: Instant = MonotonicClock.now() + Self.patience
        return try client(asking: .status, until: deadline).status(until: deadline)
    }

    /// The status of the sound process, or the reason why it is unknown; nil if there is no sound process, or it is
    /// starting or ending.
    package var statusIfThere: Result<SoundSnapshot, ControlError>? {
        guard (try? directory.hasSoundWriter()) ?? false else { return nil }
        do throws(ControlError) { return .success(try status()) } catch .gone { return nil } catch {
            return .failure(error)
        }
    }

    private func client(asking request: SoundRequest, until deadline: Instant) -> ControlClient<SoundSnapshot> {
        let process = ControlledProcess.sound(path: directory.path, pid: directory.soundWriters().first?.pid)
        return ControlClient(to: process, asking: request, until: deadline, replyLimit: 65_536) {
            try AudioLock.connect(in: directory, until: deadline)
        }
    }
}
