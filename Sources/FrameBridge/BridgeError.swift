public import Posix

/// The reason why a call of the bridge failed. The description is one sentence for a person: the failure, its object,
/// and the remedy.
public enum BridgeError: Error, Equatable, CustomStringConvertible {
    /// A broadcast name with characters outside `A-Z a-z 0-9 . _ -`, a leading dot, or more than 64 characters.
    case invalidName(String)
    /// The parent folder of the broadcast's folder is missing or cannot be opened.
    case noRuntimeDirectory(path: String, SystemError)
    /// Other users can change or read the folder, or a file in it.
    case notPrivate(path: String, problem: String)
    /// No broadcast folder or no frames file is there (yet).
    case noBroadcast(path: String)
    /// Another capture process holds the writer lock. `pid` is the one in its status file.
    case alreadyRunning(path: String, pid: Int32?)
    /// Another sound process holds the lock of the broadcast's sound.
    case soundAlreadyRunning(path: String)
    /// The capture process, or the sound process, does not hand out its memory. Perhaps it does not get to run.
    case noAnswer(path: String)
    /// The file system cannot hold the frames file.
    case noSpace(path: String, bytes: Int)
    /// The frames file breaks its own layout. `problem` names the first wrong field.
    case damaged(path: String, problem: String)
    /// The frames file has a layout of a later major version.
    case newerLayout(path: String, found: Int, supported: Int)
    /// A picture size that the layout does not hold: odd, zero, or above 16384.
    case invalidSize(width: Int, height: Int)
    /// Another system call failed.
    case system(path: String, SystemError)

    /// One sentence.
    public var description: String {
        switch self {
        case .invalidName(let name):
            "\"\(name)\" cannot name a broadcast: use 1 to 64 of A-Z a-z 0-9 . _ - and no leading dot"
        case .noRuntimeDirectory(let path, let error):
            "cannot use the runtime directory \(path) (\(error.reason)): "
                + (error.limitAdvice ?? "set XDG_RUNTIME_DIR to a directory of your own")
        case .notPrivate(let path, let problem):
            "\(path) \(problem): make it yours alone (chown, chmod go-rwx)"
        case .noBroadcast(let path):
            "no broadcast in \(path): start one"
        case .alreadyRunning(let path, let pid):
            "a broadcast already runs in \(path)\(pid.map { " (process \($0))" } ?? ""): stop it"
        case .soundAlreadyRunning(let path):
            "a sound process already runs in \(path): stop it"
        case .noAnswer(let path):
            "the writer of \(path) does not answer: let it run again (kill -CONT), or restart it"
        case .noSpace(let path, let bytes):
            "no space for \(bytes < 1_048_576 ? "\(bytes) bytes" : "\((bytes + 1_048_575) / 1_048_576) MiB of frames") "
                + "in \(path): free some"
        case .damaged(let path, let problem):
            "\(path) is damaged (\(problem)): restart the broadcast"
        case .newerLayout(let path, let found, let supported):
            "\(path) has layout \(found), and this program reads up to \(supported): use the same version of Oriel on both sides"
        case .invalidSize(let width, let height):
            "a picture of \(width)x\(height) does not fit the bridge: use even sizes from 2x2 to 16384x16384"
        case .system(let path, let error):
            "\(error.call) failed on \(path) (\(error.reason)): "
                + (error.limitAdvice ?? "see whether its file system is in order")
        }
    }
}
