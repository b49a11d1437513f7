import Control
import Media
import TestSupport
import Testing

@testable import Calls
@testable import Peers

/// What pages and programs get by HTTP, byte for byte: others read it, so a key or its unit never changes.
@Suite struct PageBytesTests {
    /// The work of a sender whose sound has a target of 96 kb/s.
    private var work: SenderSnapshot.Work {
        var work = SenderSnapshot.Work()
        work.sound = SenderSnapshot.Sound()
        work.sound?.targetBps = 96_000
        return work
    }

    @Test func aViewerIsReportedWithEachOfItsFigures() {
        var (viewer, work) = (ViewerSnapshot(), work)
        (work.quantizer, work.limit) = (12, .link)
        viewer.participant.talk = .asked
        (viewer.peer.link.estimateBps, viewer.peer.link.targetBps) = (1_500_000, 1_200_000)
        (viewer.peer.link.queueMs, viewer.peer.media.soundBps) = (12.345, 64_000)
        #expect(
            PageViewer(viewer, rendition: 2, work).json
                == #"{"estimate_bps":1500000,"limit":"link","quantizer":12,"queue_ms":12.345,"rendition":2,"#
                + #""sound_target_bps":96000,"talk":"asked","target_bps":1200000}"#
        )
        viewer = ViewerSnapshot()
        (viewer.peer.media.path, viewer.peer.media.srtp) = ("host-relay", "SRTP_AEAD_AES_128_GCM")
        #expect(
            PageViewer(viewer, rendition: 1, SenderSnapshot.Work()).json
                == #"{"rendition":1,"rows":[["Path","host-relay"],["Encryption","SRTP_AEAD_AES_128_GCM"]],"talk":"off"}"#
        )
    }

    @Test func aFigureThatIsNotKnownHasNoKey() {
        var viewer = ViewerSnapshot()
        viewer.peer.link.queueMs = 0
        #expect(
            PageViewer(viewer, rendition: 2, work).json
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
