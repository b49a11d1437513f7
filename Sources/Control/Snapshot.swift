package import FrameBridge
import Posix
import Time

/// The processes of a broadcast at one instant: what `oriel status` prints.
package struct Snapshot: Sendable {
    /// Of the JSON: one more when a key goes or means something else.
    package static let version = 1

    package struct Sender: Sendable {
        package let pid: Int32
        /// Nil if the sender gave no answer.
        package let report: SenderSnapshot?
        /// Why the sender gave no answer, for people; nil if it answered.
        package let problem: String?

        package init(pid: Int32, _ report: Result<SenderSnapshot, ControlError>) {
            self.pid = pid
            switch report {
            case .success(let report): (self.report, problem) = (report, nil)
            case .failure(let error): (self.report, problem) = (nil, "\(error)")
            }
        }
    }

    /// What a sender tells of somebody.
    package struct Entry<Somebody: Encodable & Sendable>: Sendable {
        package let sender: Int32
        package let somebody: Somebody
    }

    package var directory: String
    package var capture = CaptureSnapshot()
    package var senders: [Sender] = []
    /// Nil if there is no sound process, or it does not answer.
    package var sound: SoundSnapshot?
    /// Why the snapshot of the sound process is not known, for people; nil if it is, or there is no sound process.
    package var soundProblem: String?

    package init(directory: String) { self.directory = directory }

    /// Asks all processes, five seconds at the most.
    package init(of directory: BridgeDirectory) throws(BridgeError) {
        self.init(directory: directory.path)
        let inspection = try BridgeInspection(directory)
        senders = Senders(of: directory).reports().map { Sender(pid: $0.pid, $0.report) }
        switch SoundClient(of: directory).statusIfThere {
        case .success(let status): sound = status
        case .failure(let error): soundProblem = "sound: \(error)"
        case nil: break
        }
        capture = CaptureSnapshot(inspection, at: MonotonicClock.now())
    }

    package var viewers: [Entry<ViewerSnapshot>] {
        senders.flatMap { sender in
            (sender.report?.viewers ?? []).map { Entry(sender: sender.pid, somebody: $0) }
        }.sorted { ($0.somebody.id, $0.sender) < ($1.somebody.id, $1.sender) }
    }

    package var knocks: [Entry<SenderSnapshot.Knock>] {
        senders.flatMap { sender in
            (sender.report?.knocks ?? []).map { Entry(sender: sender.pid, somebody: $0) }
        }
    }
}
