package import FrameBridge
import Posix
import Time

/// The recorders of a broadcast, for commands.
package struct Recorders {
    private static let spareTime = Duration.seconds(1)

    private let broadcast: BridgeDirectory

    package init(of broadcast: BridgeDirectory) { self.broadcast = broadcast }

    /// Sends a request to all recorders, and waits for their replies.
    ///
    /// - Throws: the first error, after all replies; `noRecorder` without a recorder. Recorders that have ended meanwhile do not count.
    package func ask(for request: RecorderRequest) throws(ControlError) -> [RecorderSnapshot] {
        let (reports, problem) = answers(to: request)
        if let problem { throw problem }
        if reports.isEmpty { throw .noRecorder(path: broadcast.path) }
        return reports
    }

    /// The answers, and the first error.
    func answers(to request: RecorderRequest) -> (reports: [RecorderSnapshot], problem: ControlError?) {
        let deadline: Instant = MonotonicClock.now() + request.patience + Self.spareTime
        let asked = ProcessFolder.all(.recorder, in: broadcast).map { folder in
            ControlClient<RecorderSnapshot>(
                to: .recorder(pid: folder.pid),
                asking: request,
                until: deadline,
                replyLimit: 65_536
            ) { try folder.connect(until: deadline) }
        }
        var (reports, problem): ([RecorderSnapshot], ControlError?) = ([], nil)
        for recorder in asked {
            do throws(ControlError) { reports.append(try recorder.status(until: deadline)) } catch {
                if case .gone = error { continue }
                problem = problem ?? error
            }
        }
        return (reports, problem)
    }
}

package typealias RecorderReply = Reply<RecorderSnapshot>
package typealias RecorderRequests = RequestQueue<RecorderRequest, RecorderSnapshot>
