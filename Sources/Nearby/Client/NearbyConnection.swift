import Glibc
import Helpers
import JSON
package import Posix
package import Time

/// A command's connection to the nearby process.
package final class NearbyConnection {
    /// How long a process may take to come up, and to take a request.
    private static let patience = Duration.seconds(5)
    private static let pause = Duration.milliseconds(10)

    private let socket: FileDescriptor
    private var lines = LineReader(longest: NearbyReply.limit)
    private var waiting: [NearbyReply] = []

    /// Connects to the process that runs.
    ///
    /// - Parameter start: starts one, if none runs; nil to leave it at that.
    /// - Returns: nil if none runs.
    package init?(in folder: NearbyFolder, start: (() throws -> Void)?) throws {
        var hasStarted = false
        let deadline: Instant = MonotonicClock.now() + Self.patience
        while true {
            do throws(SystemError) {
                socket = try folder.connect(until: deadline).release()
                return
            } catch {
                guard [ENOENT, ECONNREFUSED].contains(error.code), MonotonicClock.now() < deadline else { throw error }
            }
            if !hasStarted {
                guard let start else { return nil }
                try start()
                hasStarted = true
            }
            MonotonicClock.sleep(for: Self.pause)
        }
    }

    /// - Parameter file: goes with the request.
    package func send(_ request: NearbyRequest, with file: GivenFile? = nil) throws {
        var bytes = Array("\(try request.jsonLine())\n".utf8)[...]
        if let file { bytes = bytes.dropFirst(try socket.send(Array(bytes), with: file.descriptor)) }
        let deadline: Instant = MonotonicClock.now() + Self.patience
        while !bytes.isEmpty {
            let count = try socket.sendAvailable(bytes)
            bytes = bytes.dropFirst(count)
            guard count == 0 else { continue }
            guard MonotonicClock.now() < deadline else { throw SystemError("send", code: ETIMEDOUT) }
            MonotonicClock.sleep(for: Self.pause)
        }
    }

    package enum Turn {
        case reply(NearbyReply)
        case late
        /// A signal has come.
        case interrupted
        /// The process has ended, or has nothing more to say.
        case ended
    }

    /// The next answer.
    ///
    /// - Parameter deadline: nil to wait for ever.
    package func next(until deadline: Instant?, _ signals: borrowing TerminationSignals) throws -> Turn {
        while true {
            if !waiting.isEmpty { return .reply(waiting.removeFirst()) }
            if lines.hasEnded || lines.isTooLong { return .ended }
            if signals.take() { return .interrupted }
            if let deadline, MonotonicClock.now() >= deadline { return .late }
            guard waitReadable(socket.raw, signals.descriptor.raw, until: deadline) else { continue }
            let read = (try? lines.read(from: socket.raw, limit: 1 << 16)) ?? []
            // Answers of a later version are left out.
            waiting += read.compactMap { try? NearbyReply(jsonLine: $0) }
        }
    }
}
