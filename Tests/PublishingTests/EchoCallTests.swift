import Access
import Control
import FrameBridge
import Glibc
import Media
import Posix
import TestSupport
import Testing
import Time

@testable import Calls
@testable import Publishing
@testable import Sender

/// A kind of call that nothing but the list of kinds knows does what calls do.
@Suite struct EchoCallTests {
    private struct Unexpected: Error {}

    private let files: TemporaryDirectory
    private let folder: ProcessFolder

    init() throws {
        files = try TemporaryDirectory()
        folder = try ProcessFolder(.sender, in: BridgeDirectory(path: files.file("bridge"), create: true))
    }

    private func scene() throws -> CallScene {
        var settings = AccessEngine.Settings()
        settings.asks = true
        settings.guests = [Guest(key: try #require(EchoCall.guestKey), name: "Ann")]
        return try CallScene(access: AccessControl(settings), events: files.file("events"))
    }

    /// Waits until an event has been told, and makes sure that it was told once.
    private func expectOnce(_ event: String) throws {
        func count() throws -> Int {
            let file = try FileDescriptor.open(files.file("events"), O_RDONLY)
            let text = String(decoding: try file.readBytes(1 << 20), as: UTF8.self)
            return text.split(separator: "\n").count { $0.contains("\"event\":\"\(event)\"") }
        }
        try wait(until: "\(event) is told") { try count() > 0 }
        #expect(try count() == 1)
    }

    @Test func aCallOfTheStartStandsIsLostComesBackAndIsLeft() throws {
        let scene = try scene()
        defer { scene.close() }
        try scene.events.begin()
        let plan = try scene.kinds.plan("echo:tea")
        try scene.calls.begin([(plan, try plan.prepare(CallSettings()))])
        func call() -> String {
            scene.calls.statuses(at: MonotonicClock.now()).map { "\($0.name) \($0.state) \($0.reason ?? "")" }
                .joined(separator: ", ")
        }
        let echo = try #require(scene.echoes["echo:tea"])
        #expect(call() == "echo:tea standing ")
        echo.lose()
        #expect(call() == "echo:tea away the wind is loud")
        echo.comeBack()
        #expect(call() == "echo:tea standing " && !scene.calls.areOver)
        guard case .done = scene.commands.reply(to: .leave(call: "echo:tea")) else { throw Unexpected() }
        #expect(call() == "echo:tea ended " && scene.calls.areOver && scene.calls.failure == nil)
        // It may not end twice, nor come back.
        echo.end(CallEnd(.failed, "too late"))
        echo.comeBack()
        #expect(call() == "echo:tea ended " && scene.calls.failure == nil)
        try expectOnce("call_ended")
    }

    @Test func whatEndsByItselfIsTheSendersFailure() throws {
        let scene = try scene()
        defer { scene.close() }
        try scene.events.begin()
        let plan = try scene.kinds.plan("echo:tea")
        try scene.calls.begin([(plan, try plan.prepare(CallSettings()))])
        scene.echoes["echo:tea"]?.end(CallEnd(.unavailable, "the wood is gone"))
        #expect(scene.calls.areOver && scene.calls.failure?.description == "the wood is gone")
        try expectOnce("call_ended")
    }

    /// As commands do, over the sender's socket.
    @Test func aCallIsHandedOverWithAGuestWhoIsKicked() throws {
        let scene = try scene()
        defer { scene.close() }
        try scene.events.begin()
        let control = try LineServer(answering: try folder.listen(), scene.commands.reply)
        defer { control.close() }
        func ask(_ request: SenderRequest) throws -> SenderReply {
            let deadline: Instant = MonotonicClock.now() + patience
            return try SenderClient(to: folder, asking: request, until: deadline).reply(until: deadline)
        }
        func status() throws -> SenderSnapshot {
            guard case .status(let status) = try ask(.status) else { throw Unexpected() }
            return status
        }
        let addition = SenderRequest.add(call: "echo:tea", settings: ["guest": "Ann", "port": "7"])
        guard case .done = try ask(addition) else { throw Unexpected() }
        guard case .refused = try ask(addition) else { throw Unexpected() }
        try wait(until: "it stands, and somebody is there") {
            let status = try status()
            return status.calls.map(\.state) == [.standing] && status.viewers.count == 1
        }
        let viewer = try #require(try status().viewers.first)
        #expect(viewer.participant.call == "echo:tea" && viewer.participant.name == "Ann")
        guard case .refused = try ask(.kick(viewer: ParticipantID(viewer.participant.id.number + 1))) else {
            throw Unexpected()
        }
        guard case .done(let visitor) = try ask(.kick(viewer: viewer.participant.id)) else { throw Unexpected() }
        #expect(visitor?.name == "Ann" && scene.access.read { $0.guest(EchoCall.guestKey) } == nil)
        try wait(until: "nobody is there") { try status().viewers.isEmpty }
        guard case .done = try ask(.leave(call: "echo:tea")) else { throw Unexpected() }
        #expect(try status().calls.map(\.state) == [.ended] && scene.calls.areOver)
        for event in ["call_joined", "peer_left", "call_ended"] { try expectOnce(event) }
    }

    @Test func whatIsMeantNamesTheKind() throws {
        let scene = try scene()
        defer { scene.calls.close() }
        guard case .refused(let reason) = scene.commands.reply(to: .add(call: "ecko:tea", settings: [:])) else {
            throw Unexpected()
        }
        #expect(reason.hasSuffix(", or echo:NAME"))
    }
}
