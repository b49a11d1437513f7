import Media
import RTP
import Time
import WebRTC

/// The packets of each rendition that is sent, for all peers that get it, at the encoders' target.
struct RenditionHistories {
    /// Seconds of packets that can be sent again, at the target bitrate.
    private static let length = 2

    private let configuration: PeerGroup.Configuration
    private var histories: [Rendition.ID: PacketHistory] = [:]
    /// The encoders' target, as of the last round, in bits a second.
    private(set) var bitrate: Int

    init(_ configuration: PeerGroup.Configuration) {
        self.configuration = configuration
        bitrate = configuration.media.target.bitsPerSecond
    }

    var pace: Pacer.Pace { .video(targetBitrate: UInt64(bitrate)) }

    /// Takes the encoders' target.
    ///
    /// - Returns: whether it has changed.
    mutating func followTarget() -> Bool {
        let target = configuration.media.target.bitsPerSecond
        guard target != bitrate else { return false }
        bitrate = target
        for (id, history) in histories { history.setCapacity(capacity(of: configuration.rendition(id))) }
        return true
    }

    /// The packets of a rendition, which are kept from now on.
    mutating func history(of rendition: Rendition) -> PacketHistory {
        if let history = histories[rendition.id] { return history }
        let history = makeHistory(of: rendition)
        histories[rendition.id] = history
        return history
    }

    /// A history beside those that are kept.
    func makeHistory(of rendition: Rendition) -> PacketHistory {
        var random = SystemRandomNumberGenerator()
        return PacketHistory(
            codec: rendition.codec,
            maximumPayloadSize: PeerSession.maximumPayloadSize,
            capacity: capacity(of: rendition),
            using: &random
        )
    }

    /// The number of kept packets of a rendition.
    private func capacity(of rendition: Rendition) -> Int {
        // The largest keyframe grows with the picture.
        let largestKeyframe = rendition.width * rendition.height / 512
        return max(largestKeyframe, bitrate / 8 * Self.length / PeerSession.maximumPayloadSize)
    }

    /// Forgets pictures from before an instant. Returns whether there were any.
    func forget(takenBefore horizon: Instant) -> Bool {
        var hasForgotten = false
        for history in histories.values where history.forget(takenBefore: horizon) { hasForgotten = true }
        return hasForgotten
    }

    mutating func removeAll() { histories.removeAll() }
}
