import ICE
import Media
import RTP
import Testing
import WebRTC

@testable import Peers

@Suite struct RenditionHistoriesTests {
    /// From round to round: all packets of a round have one pace.
    @Test func thePaceFollowsTheTarget() {
        let rendition = Rendition(
            id: Rendition.ID(0),
            codec: .vp8,
            width: 64,
            height: 64,
            framesPerSecond: 30,
            bitrate: 1_000_000
        )
        let target = TargetBitrate(1_000_000)
        let ice = ICEAgent.Configuration(addresses: ["127.0.0.1"])
        let media = SentMedia(codecs: [[.vp8]], renditions: [rendition], target: target) { _ in
        } removeSink: { _ in
        }
        var histories = RenditionHistories(PeerGroup.Configuration(media, ice: ice))
        var hasChanged = histories.followTarget()
        #expect(!hasChanged)
        target.set(400_000)
        #expect(histories.pace == .video(targetBitrate: 1_000_000))
        hasChanged = histories.followTarget()
        #expect(hasChanged && histories.pace == .video(targetBitrate: 400_000))
        hasChanged = histories.followTarget()
        #expect(!hasChanged)
    }
}
