package import FrameBridge
import Glibc
import JSON
package import Posix
package import Time

/// A running sender that was asked for something. Nothing of its reply is believed: it may have been taken over, hang, or be dead.
package final class SenderConnection {
    /// Bytes of the longest reply, which tells of thousands of viewers.
    private static let replyLimit = 4 << 20
    private static let connectTime = Duration.milliseconds(100)
    /// How long a command gives all senders for one request.
    package static let patience = Duration.seconds(2)

    package let pid: Int32
    private let channel: Result<LineChannel, SenderControlError>

    /// Asks a sender, without waiting for its reply.
    package init(to folder: SenderFolder, asking request: SenderRequest, until deadline: Instant) {
        pid = folder.pid
        do {
            // A sender that accepts no connection must leave time for the others.
            let channel = try folder.connect(until: min(deadline, MonotonicClock.now() + Self.connectTime))
            try channel.send(try request.jsonLine(), until: deadline)
            self.channel = .success(channel)
        } catch {
            channel = .failure(SenderControlError(error, of: folder.pid))
        }
    }

    /// Waits for the reply. Call it once.
    package func reply(until deadline: Instant) throws(SenderControlError) -> SenderReply {
        switch channel {
        case .failure(let error): throw error
        case .success(let channel):
            do {
                return try SenderReply(jsonLine: try channel.receive(limit: Self.replyLimit, until: deadline))
            } catch {
                throw SenderControlError(error, of: pid)
            }
        }
    }
}

/// Why a sender could not be asked.
package enum SenderControlError: Error, Equatable, CustomStringConvertible {
    /// The sender has ended, or has no socket.
    case gone(pid: Int32)
    /// The sender did not answer in time.
    case hangs(pid: Int32)
    /// The sender's reply makes no sense, or breaks off.
    case babbles(pid: Int32)
    case system(pid: Int32, SystemError)

    fileprivate init(_ error: any Error, of pid: Int32) {
        guard let error = error as? SystemError else {
            self = .babbles(pid: pid)
            return
        }
        self =
            switch error.code {
            case ENOENT, ECONNREFUSED, ECONNRESET, EPIPE: .gone(pid: pid)
            case ETIMEDOUT: .hangs(pid: pid)
            case EMSGSIZE, EBADMSG, ENOTSOCK, ELOOP: .babbles(pid: pid)
            default: .system(pid: pid, error)
            }
    }

    package var description: String {
        switch self {
        case .gone(let pid): "the sender \(pid) takes no commands"
        case .hangs(let pid): "the sender \(pid) does not answer: if it stays so, end it with kill"
        case .babbles(let pid):
            "the answer of the sender \(pid) is not understood: if it has not crashed, end it with kill"
        case .system(let pid, let error): "the sender \(pid) cannot be asked: \(error)"
        }
    }
}
