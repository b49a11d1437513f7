import Media
import RTP
import TestSupport
import Testing
import Time

@testable import Calls
@testable import Peers

/// What pages and programs get by HTTP, byte for byte: others read it, so a key or its unit never changes.
@Suite struct PageBytesTests {
    private func viewer(estimate: Int? = nil, backlog: Duration = .zero, hears: Bool) -> PeerStatus {
        PeerStatus(
            id: 7,
            call: "web",
            address: "192.0.2.1",
            since: .start,
            codec: .vp8,
            rung: 1,
            isConnected: true,
            isReceived: false,
            canSpeak: true,
            bitrate: 900_000,
            sound: hears ? PeerStatus.Sound(bitrate: 64_000, StreamStatistics()) : nil,
            profile: nil,
            path: nil,
            statistics: StreamStatistics(),
            estimate: estimate,
            backlog: backlog,
            roundTripTime: nil
        )
    }

    @Test func aViewerIsReportedWithEachOfItsFigures() {
        let work = WebStatus.Work(quantizer: 12, limit: "link", soundTarget: 96_000)
        let viewer = viewer(estimate: 1_500_000, backlog: .microseconds(12_345), hears: true)
        #expect(
            ViewerReport(viewer, target: 1_200_000, work, .asked).json
                == #"{"estimate_bps":1500000,"limit":"link","quantizer":12,"queue_ms":12.345,"rendition":2,"#
                + #""sound_target_bps":96000,"talk":"asked","target_bps":1200000}"#
        )
    }

    @Test func aFigureThatIsNotKnownHasNoKey() {
        let work = WebStatus.Work(soundTarget: 96_000)
        #expect(
            ViewerReport(viewer(hears: false), target: nil, work, .off).json
                == #"{"queue_ms":0,"rendition":2,"talk":"off"}"#
        )
    }

    @Test func theStatusCountsWhoMaySpeakWhereAViewerMay() {
        let status = WebStatus(hearsViewers: true)
        #expect(status.json == #"{"state":"starting","talk":0,"viewers":0}"#)
        status.note(.sourceLost)
        status.noteTalk()
        #expect(status.json == #"{"state":"source_lost","talk":1,"viewers":0}"#)
    }

    /// The rest is in `SpeakingTests`, `WHEPTests` and `WebServiceTests`.
    @Test func theAnswerToAWishToSpeakIsOneLine() throws {
        let web = try WebFixture(talk: .ask)
        let session = try web.join(by: WebFixture.talkingOffer).session
        #expect(try web.request("POST", session + "/talk").body == Array("{\"talk\":\"asked\"}\n".utf8))
        #expect(try web.request("DELETE", session + "/talk").body == Array("{\"talk\":\"none\"}\n".utf8))
    }
}
