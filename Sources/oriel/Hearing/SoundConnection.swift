import FrameBridge
import Glibc
import JSON
import Posix
import Sound
import Time

/// The sound process of a broadcast, as commands reach it. Nothing of its reply is believed: it may have been taken over, hang, or be dead.
struct SoundConnection {
    /// Bytes of the longest request.
    static let requestLimit = 4096
    private static let replyLimit = 65_536
    private static let patience = Duration.seconds(3)

    let directory: BridgeDirectory

    /// Asks for something that is done or refused.
    func ask(for request: SoundRequest) throws {
        switch try reply(to: request) {
        case .done: return
        case .refused(let reason): throw Failure(.failed, reason)
        case .status: throw babbling
        }
    }

    /// Asks how it is.
    func status() throws -> SoundStatus {
        guard case .status(let status) = try reply(to: .status) else { throw babbling }
        return status
    }

    /// The status of the sound process, or why it is not known; nil if there is no sound process, or it is starting or ending.
    var statusIfThere: Result<SoundStatus, any Error>? {
        guard (try? directory.hasSoundWriter()) ?? false else { return nil }
        do { return .success(try status()) } catch { return error as? Failure == absence ? nil : .failure(error) }
    }

    private func reply(to request: SoundRequest) throws -> SoundReply {
        let deadline: Instant = MonotonicClock.now() + Self.patience
        do {
            let channel = try SoundSeat.connect(in: directory, until: deadline)
            try channel.send(try request.jsonLine(), until: deadline)
            return try SoundReply(jsonLine: try channel.receive(limit: Self.replyLimit, until: deadline))
        } catch let error as SystemError {
            switch error.code {
            case ENOENT, ECONNREFUSED, ECONNRESET, EPIPE: throw absence
            case ETIMEDOUT:
                let pid = directory.soundWriters().first.map { " \($0.pid)" } ?? ""
                throw Failure(.tryAgain, "the sound process\(pid) does not answer: if it stays so, end it with kill")
            case EMSGSIZE, EBADMSG, ENOTSOCK, ELOOP: throw babbling
            default: throw Failure(.failed, "the sound process cannot be asked: \(error)")
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw babbling
        }
    }

    private var absence: Failure {
        Failure(.tryAgain, "no sound process runs in \(directory.path): start one with \"oriel hear\"")
    }

    private var babbling: Failure {
        Failure(.tryAgain, "the answer of the sound process is not understood: if it has not crashed, end it with kill")
    }
}
