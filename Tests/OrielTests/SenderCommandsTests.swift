import FoundationEssentials
import Media
import Peers
import TestSupport
import Testing
import Time
import WebRTC

@testable import Calls
@testable import Sender
@testable import oriel

/// What a sender does for commands. A command checks its own options; who asks at the socket may ask anything.
@Suite struct SenderCommandsTests {
    @Test(arguments: [
        (30_000, true), (100_000_000, true), (29_999, false), (100_000_001, false), (0, false), (-1, false),
        (.min, false),
        (.max, false),
    ])
    func aBitrateBeyondTheRangeIsRefused(bitrate: Int, isTaken: Bool) throws {
        let commands = SenderCommands(["web"], plain: [], peers: nil, web: nil, lobby: nil, bitrate: 2_500_000)
        switch commands.reply(to: .setBitrate(bitrateBps: bitrate)) {
        case .done: #expect(isTaken)
        case .refused: #expect(!isTaken)
        case .status: Issue.record("it was not asked")
        }
        guard case .status(let status) = commands.reply(to: .status) else { throw Unexpected() }
        #expect(status.bitrateBps == (isTaken ? bitrate : 2_500_000))
    }

    @Test(arguments: [Int.min, -1, 0, 1, .max])
    func withoutViewersNobodyIsKicked(number: Int) throws {
        let plain = SenderCommands(["rtp://h:5004"], plain: [], peers: nil, web: nil, lobby: nil, bitrate: 1)
        guard case .refused(let reason) = plain.reply(to: .kick(viewer: number)) else { throw Unexpected() }
        #expect(reason.contains("rtp://h:5004"))
        let (peers, call) = try call()
        let web = SenderCommands(["web"], plain: [], peers: peers, web: call, lobby: nil, bitrate: 1)
        guard case .refused(let reason) = web.reply(to: .kick(viewer: number)) else { throw Unexpected() }
        #expect(reason == "no viewer \(number) looks in")
        peers.close()
    }

    @Test func theLatestKickedAreRemembered() throws {
        let (peers, call) = try call()
        for number in 0..<65 { call.noteKicked("\(number)") }
        #expect(!call.wasKicked("0") && call.wasKicked("1") && call.wasKicked("64"))
        #expect(!call.hasSession("0") && call.hasSession("1") && !call.hasSession("x"))
        peers.close()
    }

    /// A second's work, as the encoders' statistics tell of it.
    @Test(arguments: [
        (frames: 30, cost: 0.2, isThin: false, nil), (30, 0.2, true, SenderStatus.Limit.link),
        (30, 0.9, true, .processor), (1, 0.01, true, .still), (0, 0, false, .still),
    ])
    func oneWordTellsWhatLimitsThePicture(frames: Int, cost: Double, isThin: Bool, limit: SenderStatus.Limit?) {
        var work = SenderWork()
        #expect(work.limit == nil && work.quantizer == nil)
        var statistics = SenderStatistics()
        work.note(statistics, isThin: isThin, at: .seconds(1))
        #expect(work.limit == nil)
        statistics.framesEncoded = frames
        statistics.encodeTime = .seconds(cost)
        statistics.quantizer = 33
        work.note(statistics, isThin: isThin, at: .seconds(2))
        #expect(work.limit == limit)
        #expect(work.quantizer == (frames > 0 ? 33 : nil))
    }

    /// A sender that lies is not believed.
    @Test func onlyThreeWordsDo() throws {
        let text = #"{"calls":[],"bitrateBps":1,"viewers":[],"limit":"NAME"}"#
        let decoder = JSONDecoder()
        for name in ["still", "processor", "link"] {
            let status = try decoder.decode(SenderStatus.self, from: Data(text.replacing("NAME", with: name).utf8))
            #expect(status.limit?.rawValue == name)
        }
        #expect(throws: DecodingError.self) {
            try decoder.decode(SenderStatus.self, from: Data(text.replacing("NAME", with: "rain").utf8))
        }
    }

    private struct Unexpected: Error {}

    private func call() throws -> (PeerGroup, WebCall) {
        let rendition = Rendition(
            id: Rendition.ID(0),
            codec: .vp8,
            width: 64,
            height: 64,
            framesPerSecond: 30,
            bitrate: 1_000_000
        )
        let peers = try PeerGroup(PeerGroup.Configuration(renditions: [rendition], ice: .init()))
        return (peers, WebCall(peers, codecs: [[.vp8]], viewerLimit: 1) { _ in })
    }
}
