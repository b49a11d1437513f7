import FrameBridge
import Glibc
import Posix
import Synchronization
import TestSupport
import TestTraits
import Testing
import Time

@testable import Control

/// Several senders of a broadcast, of which some hang.
@Suite(.waits(seconds: 10)) struct SendersTests {
    /// Each has a place for connections that is full, and answers nobody.
    private final class Hanging {
        let process: Subprocess
        private let listener: LocalListener
        private var waiting: [SenderClient] = []

        init(in broadcast: BridgeDirectory) throws {
            process = try Subprocess(["sleep", "1000"])
            let path = "\(broadcast.path)/senders/\(process.pid)"
            mkdir(path, 0o700)
            let folder = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY)
            listener = try LocalListener(at: "control", in: folder)
        }

        func fill(_ broadcast: BridgeDirectory) {
            let folder = ProcessFolder.all(.sender, in: broadcast).first { $0.pid == process.pid }!
            for _ in 0..<20 {
                waiting.append(SenderClient(to: folder, asking: .status, until: MonotonicClock.now()))
            }
        }
    }

    /// Invariant: hungSender.
    @Test func oneThatHangsTakesNothingFromTheOthers() throws {
        let scratch = try TemporaryDirectory()
        let broadcast = try BridgeDirectory(path: scratch.file("bridge"), create: true)
        let folder = try ProcessFolder(.sender, in: broadcast)
        var viewer = ViewerSnapshot()
        viewer.participant.address = String(repeating: "x", count: 1 << 10)
        // More than is read at once.
        let status = SenderSnapshot(calls: [], bitrateBps: 1, viewers: Array(repeating: viewer, count: 50))
        let control = try LineServer(answering: try folder.listen()) { (request: SenderRequest) -> SenderReply in
            if case .status = request { .status(report: status) } else { .done() }
        }
        let hanging = try (0..<3).map { _ in try Hanging(in: broadcast) }
        // The first lets commands connect and does not answer.
        for one in hanging.dropFirst() { one.fill(broadcast) }
        let senders = Senders(of: broadcast)
        let reports = senders.reports()
        #expect(reports.count == 4)
        for sender in reports {
            switch sender.answer {
            case .success(let status): #expect(sender.pid == getpid() && status.viewers.count == 50)
            case .failure(let error): #expect(error == .hangs(.sender(pid: sender.pid)) && sender.pid != getpid())
            }
        }
        // The time that those took is not taken from the next request.
        try senders.ask(getpid(), for: .kick(viewer: 7))
        control.close()
        for one in hanging { one.process.stop() }
    }

    /// Whoever is known comes in at every broadcast.
    @Test func allBroadcastsForget() throws {
        let scratch = try TemporaryDirectory()
        _ = try BridgeDirectory(path: scratch.file("without a sender"), create: true)
        let asked = Mutex<[String]>([])
        let controls = try ["a", "b"].map { name in
            let broadcast = try BridgeDirectory(path: scratch.file(name), create: true)
            let folder = try ProcessFolder(.sender, in: broadcast)
            let control = try LineServer(answering: try folder.listen()) { (request: SenderRequest) -> SenderReply in
                if case .forget(let visitor) = request { asked.withLock { $0.append("\(name) \(visitor ?? "")") } }
                return name == "b" ? .done(visitor: Visitor(key: "k", name: "Ann")) : .done()
            }
            return (control, folder)
        }
        #expect(try Senders.forget("Ann", in: BridgeDirectory.all(in: scratch.path)))
        #expect(asked.withLock(\.self) == ["a Ann", "b Ann"])
        for (control, _) in controls { control.close() }
    }

    /// What is no call at all is not repeated, as it may be a secret.
    @Test func whoLeavesACallThatIsNoneIsToldOfThoseThatAre() throws {
        let scratch = try TemporaryDirectory()
        let broadcast = try BridgeDirectory(path: scratch.file("bridge"), create: true)
        let folder = try ProcessFolder(.sender, in: broadcast)
        let status = SenderSnapshot(
            calls: [
                SenderSnapshot.Call(name: "web", state: .standing, sinceS: 1),
                SenderSnapshot.Call(name: "rtp://192.0.2.1:5004", state: .ended, sinceS: 1),
                SenderSnapshot.Call(name: "room+https://h:443/tea", state: .away, sinceS: 1),
            ],
            bitrateBps: 1,
            viewers: []
        )
        let control = try LineServer(answering: try folder.listen()) { (_: SenderRequest) -> SenderReply in
            .status(report: status)
        }
        defer { control.close() }
        func refusal(_ name: String, isTold: Bool = true) -> ControlError? {
            do throws(ControlError) {
                _ = try Senders(of: broadcast).holder(ofCall: name, isTold: isTold)
                return nil
            } catch { return error }
        }
        func sentence(_ call: String) -> ControlError {
            .notOneSender("the broadcast in \(broadcast.path) has no \(call), but web, room+https://h:443/tea")
        }
        #expect(refusal("nonsense", isTold: false) == sentence("such call"))
        #expect(refusal("rtp://192.0.2.1:5004") == sentence("call rtp://192.0.2.1:5004"))
        #expect(try Senders(of: broadcast).holder(ofCall: "room+https://h:443/tea", isTold: true) == getpid())
    }
}
