import Access
import Control
import FoundationEssentials
import FrameBridge
import Glibc
import Media
import Peers
import Posix
import Synchronization
import Talk
import TestSupport
import Testing
import Time
import WebRTC

@testable import Calls
@testable import Publishing
@testable import Sender

/// What a sender does for commands. A command checks its own options; who asks at the socket may ask anything.
@Suite struct SenderCommandsTests {
    @Test(arguments: [
        (30_000, true), (100_000_000, true), (29_999, false), (100_000_001, false), (0, false), (-1, false),
        (.min, false),
        (.max, false),
    ])
    func aBitrateBeyondTheRangeIsRefused(bitrate: Int, isTaken: Bool) throws {
        let scene = try CallScene()
        let commands = scene.commands
        defer { scene.calls.close() }
        switch commands.reply(to: .setBitrate(bitrateBps: bitrate)) {
        case .done: #expect(isTaken)
        case .refused: #expect(!isTaken)
        case .status: Issue.record("it was not asked")
        }
        guard case .status(let status) = commands.reply(to: .status) else { throw Unexpected() }
        #expect(status.bitrateBps == (isTaken ? bitrate : 2_500_000))
    }

    @Test(arguments: [ParticipantID(.min), -1, 0, 1, ParticipantID(.max)])
    func withoutViewersNobodyIsKicked(id: ParticipantID) throws {
        let scene = try CallScene()
        defer { scene.calls.close() }
        try scene.calls.begin("echo:tea")
        #expect(try refusal(scene.commands, .kick(viewer: id)) == "no viewer \(id) looks in")
        _ = try scene.network.peers()
        #expect(try refusal(scene.commands, .kick(viewer: id)) == "no viewer \(id) looks in")
    }

    @Test func whoCannotSpeakIsNotLet() throws {
        let scene = try CallScene()
        defer { scene.calls.close() }
        for isOn in [true, false] {
            let reason = try refusal(scene.commands, .talk(viewer: 3, isOn: isOn))
            #expect(reason == "no viewer is heard here: start it with --talkback ask")
        }
        let folder = try TemporaryDirectory()
        let sender = try ProcessFolder(.sender, in: BridgeDirectory(path: folder.file("bridge"), create: true))
        let access = AccessControl()
        let talk = try TalkBack(access, into: SoundWriter(talkIn: sender)) { _ in }
        defer { talk.close() }
        let commands = SenderCommands(scene.calls, access: access, talk: talk)
        #expect(try refusal(commands, .talk(viewer: 3, isOn: true)) == "no viewer 3 looks in")
    }

    /// Whether somebody was known is told, so that a command can say that nobody was.
    @Test func whoIsForgottenIsNamed() throws {
        let scene = try CallScene()
        defer { scene.calls.close() }
        let keys = try ["a", "b", "c"].map { try #require(GuestKey(rawValue: String(repeating: $0, count: 64))) }
        var settings = AccessEngine.Settings()
        settings.asks = true
        settings.guests = zip(keys, ["Ann", "Bob", "Ann"]).map { Guest(key: $0, name: $1) }
        let (access, open) = (AccessControl(settings), AccessControl())
        func forget(_ name: String?, at access: AccessControl) throws -> String? {
            let commands = SenderCommands(scene.calls, access: access)
            guard case .done(let visitor) = commands.reply(to: .forget(name: name)) else { throw Unexpected() }
            return visitor?.name
        }
        #expect(try forget("Ann", at: open) == nil)
        #expect(try forget("Cid", at: access) == nil && forget("Ann", at: access) == "Ann")
        #expect(
            try forget("Ann", at: access) == nil && forget(nil, at: access) == "Bob" && forget(nil, at: access) == nil
        )
        #expect(keys.allSatisfy { key in access.read { $0.guest(key) } == nil })
    }

    @Test(arguments: ["nonsense", "whip+https://u:s3cr3t@h/x", "rtp://192.0.2.9:5004", ""])
    func whoLeavesACallThatIsNoneIsToldOfThoseThatAre(name: String) throws {
        let scene = try CallScene()
        defer { scene.calls.close() }
        #expect(try refusal(scene.commands, .leave(call: name)).hasSuffix(": it has none"))
        for call in ["echo:tea", "echo:milk"] { try scene.calls.begin(call) }
        let reason = try refusal(scene.commands, .leave(call: name))
        #expect(reason.hasSuffix(": it has echo:tea, echo:milk") && !reason.contains("s3cr3t"), "\(reason)")
    }

    private func refusal(_ commands: SenderCommands, _ request: SenderRequest) throws -> String {
        guard case .refused(let reason) = commands.reply(to: request) else { throw Unexpected() }
        return reason
    }

    private func add(_ name: String, _ settings: [String: String] = [:]) -> SenderRequest {
        .add(call: name, settings: settings)
    }

    @Test(arguments: [
        ("", "rtp://"), ("ftp://h/x", "rtp://"), ("room+ftp://h/x", "write room+https://"),
        ("room+http://h", "names no room"),
        ("whip+", "no endpoint of WHIP"), ("whip+file:///etc/passwd", "no endpoint of WHIP"),
        ("janus+ws://h", "names no room"), ("web", "oriel attach web"), ("rtp://h", "rtp://"), ("\u{0}\n", "rtp://"),
        ("room+http://h/" + String(repeating: "x", count: 1000), "too long"),
        ("whip+http://h/" + String(repeating: "x", count: 2000), "2000 characters"),
    ])
    func whatIsNoCallThatCanBeginIsRefused(name: String, words: String) throws {
        let scene = try CallScene()
        defer { scene.calls.close() }
        let reason = try refusal(scene.commands, add(name))
        #expect(reason.contains(words))
        #expect(scene.calls.statuses(at: MonotonicClock.now()).isEmpty && scene.calls.peers == nil)
        _ = try refusal(scene.commands, .leave(call: name))
    }

    /// It would end the line of a header.
    @Test(arguments: ["a b", "a\r\nHost: b", "ü", "\u{0}"]) func whatIsNoTokenIsRefused(token: String) throws {
        let scene = try CallScene()
        defer { scene.calls.close() }
        #expect(try refusal(scene.commands, add("whip+http://127.0.0.1:1/x", ["whipToken": token])).contains("token"))
        #expect(scene.calls.names.isEmpty)
    }

    @Test(arguments: ["0", "65535", "65536", "x"]) func whatIsNoLocalPortIsRefused(port: String) throws {
        let scene = try CallScene()
        defer { scene.calls.close() }
        #expect(try refusal(scene.commands, add("rtp://127.0.0.1:5004", ["localPort": port])).contains("out of range"))
        #expect(scene.calls.names.isEmpty)
    }

    /// As many as a sender takes stand at once; each that is left makes room for another.
    @Test func aHundredCallsAreTooMany() throws {
        let scene = try CallScene()
        let commands = scene.commands
        defer { scene.calls.close() }
        let calls = (0..<100).map { "rtp://127.0.0.1:\(20_000 + 2 * $0)" }
        for (index, call) in calls.enumerated() {
            switch commands.reply(to: add(call)) {
            case .done: #expect(index < 32)
            case .refused(let reason): #expect(index >= 32 && reason.contains("32 calls"), "\(reason)")
            case .status: throw Unexpected()
            }
            if index < 32 { #expect(try refusal(commands, add(call)).contains("a call of this sender already")) }
        }
        func statuses() -> [SenderSnapshot.Call] { scene.calls.statuses(at: MonotonicClock.now()) }
        try wait(until: "all have begun") { statuses().allSatisfy { $0.state != .joining } }
        #expect(statuses().map(\.name) == Array(calls.prefix(32)))
        #expect(statuses().allSatisfy { $0.sdp?.hasPrefix("v=0") ?? false })
        #expect(scene.calls.sent.count == 32)

        guard case .done = commands.reply(to: .leave(call: calls[3])) else { throw Unexpected() }
        #expect(try refusal(commands, .leave(call: calls[3])).contains("no call of this sender"))
        #expect(statuses().first { $0.name == calls[3] }?.state == .ended && scene.calls.sent.count == 31)
        guard case .done = commands.reply(to: add(calls[99])) else { throw Unexpected() }
        #expect(!scene.calls.areOver)
        for call in scene.calls.names {
            guard case .done = commands.reply(to: .leave(call: call)) else { throw Unexpected() }
        }
        #expect(scene.calls.areOver && scene.calls.failure == nil && scene.calls.sent.isEmpty)
        #expect(!scene.sinks.demand(for: Rendition.ID(0), at: MonotonicClock.now()).isWanted)
        #expect(statuses().count == 8 && statuses().allSatisfy { $0.state == .ended && $0.exitCode == 0 })
    }

    /// A call that comes later is told with the bitrate that was set before, and bounds it by nothing.
    @Test func theBitrateIsThatOfLaterCallsToo() throws {
        let scene = try CallScene()
        defer { scene.calls.close() }
        _ = scene.commands.reply(to: .setBitrate(bitrateBps: 700_000))
        let receiver = try UDPSocket(family: AF_INET)
        _ = scene.commands.reply(to: add("rtp://127.0.0.1:\(try receiver.localAddress().port)"))
        try wait(until: "it stands") { scene.calls.sent.count == 1 }
        let demand = scene.sinks.demand(for: Rendition.ID(0), at: MonotonicClock.now())
        #expect(demand.isWanted && demand.limit == nil && scene.sinks.target.bitsPerSecond == 700_000)
        let descriptions = scene.calls.statuses(at: MonotonicClock.now()).compactMap(\.sdp)
        #expect(descriptions.map { $0.contains("\r\nb=AS:700\r\n") } == [true])
        withExtendedLifetime(receiver) {}
    }

    @Test func aCallThatDoesNotComeAboutTellsWhy() throws {
        let scene = try CallScene()
        defer { scene.calls.close() }
        try scene.calls.begin("echo:tea")
        // The first joined call is what the peers begin with.
        #expect(scene.calls.peers == nil)
        let socket = try UDPSocket(family: AF_INET)
        let taken = try socket.localAddress()
        for (name, settings, code, words) in [
            ("whip+http://127.0.0.1:1/x", [:], 69, "127.0.0.1"),
            ("room+http://127.0.0.1:1/x", [:], 69, "127.0.0.1"),
            ("janus+ws://127.0.0.1:1/1", [:], 69, "127.0.0.1"),
            ("rtp://nowhere.invalid:5004", [:], 69, "nowhere.invalid"),
            ("rtp://127.0.0.1:5004", ["localPort": "\(taken.port)"], 1, "--local-port"),
        ] as [(String, [String: String], Int32, String)] {
            guard case .done = scene.commands.reply(to: add(name, settings)) else { throw Unexpected() }
            func status() -> SenderSnapshot.Call? {
                scene.calls.statuses(at: MonotonicClock.now()).first { $0.name == name }
            }
            try wait(until: "\(name) has ended") { status()?.state == .ended }
            #expect(status()?.exitCode == code && status()?.reason?.contains(words) ?? false)
        }
        withExtendedLifetime(socket) {}
        #expect(scene.calls.peers != nil && !scene.calls.areOver && scene.calls.names == ["echo:tea"])
    }

    @Test func whyTheLatestSessionsEndedIsRemembered() throws {
        let scene = try CallScene()
        defer { scene.calls.close() }
        let host = CallHost(name: "web", scene.network, access: scene.access) { _ in }
        let call = try WebCall(in: host, viewerLimit: 1)
        let now: Instant = MonotonicClock.now()
        for number in 0..<1025 {
            call.state.withLock { $0.note(number == 1 ? .lost : .kicked, forEndOf: "\(number)", at: now) }
        }
        #expect(["0", "1", "1024"].map { call.reasonForEnd(of: $0) } == [nil, .lost, .kicked])
        #expect(!call.hasSession("0") && call.hasSession("1") && !call.hasSession("x"))
    }

    /// A second's work, as the encoders' statistics tell of it.
    @Test(arguments: [
        (frames: 30, cost: 0.2, isThin: false, nil), (30, 0.2, true, SenderSnapshot.Limit.link),
        (30, 0.9, true, .processor), (1, 0.01, true, .still), (0, 0, false, .still),
    ])
    func oneWordTellsWhatLimitsThePicture(frames: Int, cost: Double, isThin: Bool, limit: SenderSnapshot.Limit?) {
        var work = SenderWork()
        #expect(work.latest.limit == nil && work.latest.quantizer == nil)
        var statistics = SenderStatistics()
        work.note(statistics, isThin: isThin, at: .seconds(1))
        #expect(work.latest.limit == nil)
        statistics.framesEncoded = frames
        statistics.encodeTime = .seconds(cost)
        statistics.quantizer = 33
        work.note(statistics, isThin: isThin, at: .seconds(2))
        #expect(work.latest.limit == limit)
        #expect(work.latest.quantizer == (frames > 0 ? 33 : nil))
    }

    /// A sender that lies is not believed.
    @Test func onlyThreeWordsDo() throws {
        let text = #"{"calls":[],"bitrateBps":1,"viewers":[],"limit":"NAME"}"#
        let decoder = JSONDecoder()
        for name in ["still", "processor", "link"] {
            let status = try decoder.decode(SenderSnapshot.self, from: Data(text.replacing("NAME", with: name).utf8))
            #expect(status.limit?.rawValue == name)
        }
        #expect(throws: DecodingError.self) {
            try decoder.decode(SenderSnapshot.self, from: Data(text.replacing("NAME", with: "rain").utf8))
        }
    }

    private struct Unexpected: Error {}
}
