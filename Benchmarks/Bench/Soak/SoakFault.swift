/// A fault of a broadcast in a soak, and the time until new pictures must flow again in the bridge and at the receiver.
enum SoakFault: String, CaseIterable {
    case killCapture = "kill -9 capture"
    case killSender = "kill -9 sender"
    case killBoth = "kill -9 both"
    case killServer = "X server killed"
    case stopCapture = "SIGSTOP capture"
    case stopSender = "SIGSTOP sender"
    case truncate = "frames truncated"
    case unlink = "frames removed"
    case damage = "frames damaged"
    case pause = "pause, resume"
    case freeze = "freeze, resume"
    case region = "source changed"
    case pointer = "pointer moved"
    case terminal = "terminal scrolls"
    case readers = "readers killed"
    case rubbish = "rubbish requested"
    case rest = "nothing"

    /// Whether it ends a process that is watched for leaks.
    var isLethal: Bool { [.killCapture, .killSender, .killBoth].contains(self) }

    /// Seconds, from the repair of the fault.
    var deadline: Double {
        switch self {
        case .killServer: 3
        case .truncate, .unlink, .damage: 1.5
        default: 1
        }
    }
}
