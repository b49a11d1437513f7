package import FrameBridge
import Posix
import Time

/// The processes of a broadcast at one instant, for `oriel status`.
package struct Snapshot: Sendable {
    /// The version of the JSON. It is raised when a key goes or changes its meaning.
    package static let version = 1

    package struct Sender: Sendable {
        package let pid: Int32
        package let answer: Result<SenderSnapshot, ControlError>

        package init(pid: Int32, _ answer: Result<SenderSnapshot, ControlError>) {
            (self.pid, self.answer) = (pid, answer)
        }

        /// Nil if the sender gave no answer.
        package var report: SenderSnapshot? { try? answer.get() }
        /// The reason why there is no answer, for people; nil if there is one.
        package var problem: String? { if case .failure(let error) = answer { "\(error)" } else { nil } }
    }

    /// A viewer or knock, with its sender.
    package struct Entry<Somebody: Encodable & Sendable>: Sendable {
        package let sender: Int32
        package let somebody: Somebody
    }

    package var directory: String
    package var capture = CaptureSnapshot()
    package var senders: [Sender] = []
    /// Nil if there is no sound process, or it does not answer.
    package var sound: SoundSnapshot?
    /// The reason why the sound process's state is unknown, for people; nil if it is known, or there is no sound
    /// process.
    package var soundProblem: String?
    package var recorders: [RecorderSnapshot] = []
    /// The reason why the state of a recorder is unknown, for people; nil if all are known.
    package var recorderProblem: String?

    package init(directory: String) { self.directory = directory }

    /// Asks all processes. Takes at most eight seconds.
    package init(of directory: BridgeDirectory) throws(BridgeError) {
        self.init(directory: directory.path)
        let inspection = try BridgeInspection(directory)
        senders = Senders(of: directory).reports()
        switch SoundClient(of: directory).statusIfThere {
        case .success(let status): sound = status
        case .failure(let error): soundProblem = "sound: \(error)"
        case nil: break
        }
        let recorders = Recorders(of: directory).answers(to: .status)
        (self.recorders, recorderProblem) = (recorders.reports, recorders.problem.map { "\($0)" })
        capture = CaptureSnapshot(inspection, at: MonotonicClock.now())
    }

    package var viewers: [Entry<ViewerSnapshot>] {
        entries(\.viewers).sorted { ($0.somebody.id, $0.sender) < ($1.somebody.id, $1.sender) }
    }

    package var knocks: [Entry<SenderSnapshot.Knock>] { entries { $0.knocks ?? [] } }

    private func entries<Somebody>(_ all: (SenderSnapshot) -> [Somebody]) -> [Entry<Somebody>] {
        senders.flatMap { sender in
            (sender.report.map(all) ?? []).map { Entry(sender: sender.pid, somebody: $0) }
        }
    }
}
