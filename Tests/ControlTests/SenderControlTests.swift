import FrameBridge
import Glibc
import Media
import Posix
import Synchronization
import TestSupport
import TestTraits
import Testing
import Time

@testable import Control

/// A sender's socket, and those who ask at it. This process is the sender.
@Suite(.serialized, .waits(seconds: 60)) struct SenderControlTests {
    private let scratch: TemporaryDirectory
    private let broadcast: BridgeDirectory
    private let folder: ProcessFolder
    private var soon: Instant { MonotonicClock.now() + .milliseconds(100) }
    private var late: Instant { MonotonicClock.now() + patience }

    init() throws {
        scratch = try TemporaryDirectory()
        broadcast = try BridgeDirectory(path: scratch.file("bridge"), create: true)
        folder = try ProcessFolder(.sender, in: broadcast)
    }

    @Test func whatIsAskedIsAnswered() throws {
        let asked = Mutex<[SenderRequest]>([])
        let control = try LineServer(answering: try folder.listen()) { (request: SenderRequest) -> SenderReply in
            asked.withLock { $0.append(request) }
            return switch request {
            case .status: .status(report: Self.status)
            case .kick(let viewer): viewer == 7 ? .done() : .refused(reason: "no viewer \(viewer) looks in")
            case .talk, .accept, .reject, .forget, .invite, .revoke, .command, .setBitrate, .add, .leave, .subscribe:
                .done()
            }
        }
        let requests: [SenderRequest] = [
            .status, .kick(viewer: 7), .kick(viewer: ParticipantID(.max)), .setBitrate(bitrateBps: 30_000),
            .accept(knock: 1),
            .invite(token: "ab", name: "Ann \u{1B}", rights: ["watch"], seconds: nil, isForOne: true),
            .revoke(invite: nil), .revoke(invite: "Ann"), .command(.viewport(nil)),
            .command(.viewport(Viewport([0, 10, 640, 370]))), .command(.legibility(.auto)),
            .command(.source("next")), .command(.statusFrame(.low)),
            .reject(knock: 2), .leave(call: "web"), .talk(viewer: 7, isOn: true),
            .add(
                call: "whip+http://h/\u{1F}\"",
                settings: ["whipToken": "t", "localPort": "65535", "janusPin": "0123"]
            ),
        ]
        let answers = try requests.map { try ask($0) }
        #expect(asked.withLock { $0 } == requests)
        guard case .status(let status) = answers[0], case .done = answers[1], case .refused(let reason) = answers[2],
            case .done = answers[3]
        else {
            Issue.record("\(answers)")
            return
        }
        #expect(
            status.calls.map(\.name) == ["web"] && status.calls[0].state == .standing && status.viewers.map(\.id) == [7]
                && status.viewers[0].peer.link.rttMs == nil
        )
        #expect(status.viewers[0].participant.address == "2001:db8::1")
        #expect(reason == "no viewer \(Int.max) looks in")
        control.close()
        // The kernel lets nobody in where nobody listens; the folder stays until a successor clears it away.
        #expect(ProcessFolder.all(.sender, in: broadcast).count == 1)
    }

    /// Those who ask nothing, or what cannot be understood, cost the next one no more than a second each.
    /// Invariant: hungSender.
    @Test(arguments: [
        "", "status", "{}", "{\"status\":{}", "{\"end\":{}}", "{\"kick\":{}}", "{\"kick\":{\"viewer\":\"7\"}}",
        "{\"kick\":{\"viewer\":1e400}}", "{\"set_bitrate\":{\"bitrate_bps\":0.5}}",
        "{\"status\":{},\"kick\":{\"viewer\":7}}", "{\"add\":{}}", "{\"add\":{\"call\":\"web\"}}",
        "{\"add\":{\"settings\":{\"whipToken\":\"t\"}}}", "{\"add\":{\"call\":7,\"settings\":{}}}",
        "{\"add\":{\"call\":\"rtp://h:1\",\"settings\":{\"localPort\":65536}}}", "{\"leave\":{}}",
        "{\"leave\":{\"call\":[\"web\"]}}",
        "[[[[", "\u{0}", "\u{FFFD}",
        String(repeating: "[", count: 4096), "null",
    ])
    func whatMakesNoSenseIsRefused(line: String) throws {
        let control = try LineServer(answering: try folder.listen()) { (_: SenderRequest) -> SenderReply in .done() }
        let silent = line.isEmpty ? try folder.connect(until: late) : nil
        let asker = try folder.connect(until: late)
        try asker.send(line, until: late)
        #expect(
            try asker.receive(limit: 1000, until: late) == "{\"refused\":{\"reason\":\"the request makes no sense\"}}"
        )
        withExtendedLifetime(silent) {}
        #expect(try isDone(ask(.status)))
        control.close()
    }

    @Test func aRequestThatIsTooLongIsLeft() throws {
        let control = try LineServer(answering: try folder.listen()) { (_: SenderRequest) -> SenderReply in .done() }
        let asker = try folder.connect(until: late)
        try? asker.send(String(repeating: " ", count: 70_000) + "{\"status\":{}}", until: late)
        #expect(throws: SystemError.self) { try asker.receive(limit: 1000, until: late) }
        #expect(try isDone(ask(.status)))
        control.close()
    }

    /// A process that was stopped finds in its socket what nobody waits for any more.
    /// Invariant: hungSender.
    @Test func whatWasGivenUpIsNotDoneLater() throws {
        let listener = try folder.listen()
        do { try folder.connect(until: late).send("{\"kick\":{\"viewer\":7}}", until: late) }
        let asked = Mutex<[SenderRequest]>([])
        let control = try LineServer(answering: listener) { (request: SenderRequest) -> SenderReply in
            asked.withLock { $0.append(request) }
            return .done()
        }
        #expect(try isDone(ask(.status)))
        #expect(asked.withLock { $0 } == [.status])
        control.close()
    }

    @Test func anAnswerThatBreaksOffIsToldOf() throws {
        let listener = try folder.listen()
        let connection = SenderClient(to: folder, asking: .status, until: late)
        do {
            let liar = listener.accept()!
            _ = try liar.receive(limit: 100, until: late)
            // A whole line is not what it takes for an answer, and the rest of this one is lost.
            try liar.send("{\"done\":{}", until: late)
        }
        #expect(throws: ControlError.babbles(.sender(pid: getpid()))) { try connection.reply(until: late) }
    }

    @Test func aSenderThatEndsInsteadOfAnsweringIsToldOf() throws {
        let listener = try folder.listen()
        let connection = SenderClient(to: folder, asking: .status, until: late)
        do { _ = try listener.accept()!.receive(limit: 100, until: late) }
        #expect(throws: ControlError.babbles(.sender(pid: getpid()))) { try connection.reply(until: late) }
    }

    /// As a process in another container may have it.
    @Test func aSenderOfTheSameNumberIsLeftAlone() throws {
        let listener = try folder.listen()
        #expect(throws: BridgeError.self) { try ProcessFolder(.sender, in: broadcast) }
        _ = try folder.connect(until: late)
        withExtendedLifetime(listener) {}
    }

    @Test(arguments: [(65_536, true), (65_537, false)])
    func aRequestMayBeSoLong(length: Int, isTaken: Bool) throws {
        let control = try LineServer(answering: try folder.listen()) { (_: SenderRequest) -> SenderReply in .done() }
        let asker = try folder.connect(until: late)
        let request = "{\"status\":{}}"
        try asker.send(request + String(repeating: " ", count: length - request.count), until: late)
        #expect((try? asker.receive(limit: 100, until: late)) == (isTaken ? "{\"done\":{}}" : nil))
        control.close()
    }

    @Test func aSenderThatHangsIsToldOf() throws {
        let listener = try folder.listen()
        #expect(throws: ControlError.hangs(.sender(pid: getpid()))) { try ask(.status, until: soon) }
        withExtendedLifetime(listener) {}
    }

    @Test func aSenderThatHasEndedIsToldOf() throws {
        #expect(throws: ControlError.gone(.sender(pid: getpid()))) { try ask(.status) }
        _ = try folder.listen()
        #expect(throws: ControlError.gone(.sender(pid: getpid()))) { try ask(.status) }
    }

    /// A sender that was taken over may answer anything.
    /// Invariant: hungSender.
    @Test(arguments: [
        "", "{}", "{\"done\":1}", "{\"status\":{}}",
        "{\"status\":{\"report\":{\"calls\":1,\"bitrate_bps\":1,\"viewers\":[]}}}",
        "{\"status\":{\"report\":{\"calls\":[],\"bitrate_bps\":1e99,\"viewers\":[]}}}", "{\"refused\":7}",
        "{\"refused\":{\"reason\":7}}", "[]", "nonsense",
        String(repeating: "[", count: 100_000), String(repeating: "x", count: 4 << 20 + 1),
    ])
    func aSenderThatLiesIsToldOf(answer: String) throws {
        let listener = try folder.listen()
        let connection = SenderClient(to: folder, asking: .status, until: late)
        let liar = listener.accept()!
        let late = late
        #expect(try liar.receive(limit: 100, until: late) == "{\"status\":{}}")
        let thread = try Thread { try? liar.send(answer, until: late) }
        #expect(throws: ControlError.babbles(.sender(pid: getpid()))) { try connection.reply(until: late) }
        thread.join()
    }

    /// One byte at a time is no answer either.
    @Test func aSenderThatTricklesIsToldOf() throws {
        let listener = try folder.listen()
        let connection = SenderClient(to: folder, asking: .status, until: late)
        let liar = listener.accept()!
        let isOver = Atomic(false)
        try withExtendedLifetime(listener) {
            let thread = try Thread {
                while !isOver.load(ordering: .relaxed) {
                    try? liar.send(" ", until: MonotonicClock.now() + .milliseconds(1))
                    MonotonicClock.sleep(until: MonotonicClock.now() + .milliseconds(1))
                }
            }
            #expect(throws: ControlError.self) { try connection.reply(until: soon) }
            isOver.store(true, ordering: .relaxed)
            thread.join()
        }
    }

    private func isDone(_ answer: SenderReply) -> Bool { if case .done = answer { true } else { false } }

    @discardableResult
    private func ask(_ request: SenderRequest, until deadline: Instant? = nil) throws -> SenderReply {
        let found = try #require(ProcessFolder.all(.sender, in: broadcast).first)
        let deadline = deadline ?? late
        return try SenderClient(to: found, asking: request, until: deadline).reply(until: deadline)
    }

    private static let status: SenderSnapshot = {
        var viewer = ViewerSnapshot()
        viewer.participant.id = 7
        viewer.participant.address = "2001:db8::1"
        viewer.peer.link.lossRatio = 0.25
        viewer.peer.media.path = "host-host"
        return SenderSnapshot(
            calls: [SenderSnapshot.Call(name: "web", state: .standing, sinceS: 1)],
            bitrateBps: 1,
            viewers: [viewer]
        )
    }()
}
