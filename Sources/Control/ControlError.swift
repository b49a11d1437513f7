import Glibc
package import Posix

package enum ControlledProcess: Equatable, Sendable {
    case sender(pid: Int32)
    case recorder(pid: Int32)
    /// The sound process of the broadcast in a folder; without a number if nobody holds its lock.
    case sound(path: String, pid: Int32?)

    fileprivate var name: String {
        switch self {
        case .sender(let pid): "the sender \(pid)"
        case .recorder(let pid): "the recorder \(pid)"
        case .sound: "the sound process"
        }
    }
}

package enum ControlError: Error, Equatable, CustomStringConvertible {
    /// The process has ended, or has no socket.
    case gone(ControlledProcess)
    case hangs(ControlledProcess)
    /// The process's reply makes no sense, or is not whole.
    case babbles(ControlledProcess)
    case system(ControlledProcess, SystemError)
    /// The reason, as a sentence without a full stop.
    case refused(reason: String)
    /// There is no sender, or none of that number, in the broadcast's folder; perhaps because there is no broadcast.
    case noSender(Int32?, path: String, isBroadcast: Bool)
    /// There is no recorder of the broadcast in a folder.
    case noRecorder(path: String)
    /// The command does not mean exactly one sender: a sentence without a full stop.
    case notOneSender(String)

    init(_ error: any Error, of process: ControlledProcess) {
        guard let error = error as? SystemError else {
            self = .babbles(process)
            return
        }
        self =
            switch error.code {
            case ENOENT, ECONNREFUSED, ECONNRESET, EPIPE: .gone(process)
            case ETIMEDOUT: .hangs(process)
            case EMSGSIZE, EBADMSG, ENOTSOCK, ELOOP: .babbles(process)
            default: .system(process, error)
            }
    }

    /// Whether the same command may succeed later.
    package var isTemporary: Bool {
        switch self {
        case .refused, .notOneSender, .system(.sound, _): false
        case .gone, .hangs, .babbles, .system(.sender, _), .system(.recorder, _), .noSender, .noRecorder: true
        }
    }

    package var description: String {
        switch self {
        case .gone(.sender(let pid)): "the sender \(pid) takes no commands"
        case .gone(.recorder(let pid)): "the recorder \(pid) takes no commands"
        case .gone(.sound(let path, _)): "no sound process runs in \(path): start one with \"oriel hear\""
        case .hangs(.sound(_, let pid?)):
            "the sound process \(pid) does not answer: if it stays so, end it with kill -KILL"
        case .hangs(let process): "\(process.name) does not answer: if it stays so, end it with kill -KILL"
        case .babbles(let process):
            "the answer of \(process.name) is not understood: if it has not crashed, end it with kill -KILL"
        case .system(let process, let error): "\(process.name) cannot be asked: \(error)"
        case .refused(let sentence), .notOneSender(let sentence): sentence
        case .noRecorder(let path): "nothing records the broadcast in \(path): start with \"oriel record\""
        case .noSender(_, let path, false): "no broadcast in \(path): start one with \"oriel share\" or \"oriel start\""
        case .noSender(let pid?, let path, true):
            "no sender \(pid) is attached to the broadcast in \(path): see \"oriel status\""
        case .noSender(nil, let path, true):
            "no sender is attached to the broadcast in \(path): start one with \"oriel attach\""
        }
    }
}
