import FoundationEssentials
import Media
import Peers
import Time

/// What the sender knows of the way to a viewer, for the viewer's page.
struct ViewerReport: Encodable {
    private enum CodingKeys: String, CodingKey {
        case estimate = "estimate_bps"
        case target = "target_bps"
        case queue = "queue_ms"
        case soundTarget = "sound_target_bps"
        case rendition, quantizer, limit, talk
    }

    /// What its link carries, in bits a second; nil where nothing tells.
    private let estimate: Int?
    /// The target of its encoder, in bits a second, as the links allow it.
    private let target: Int?
    /// How long the last of what waits for it has to wait, in milliseconds.
    private let queue: Double
    /// 1 for what viewers with good links get; more for the encodes of worse ones.
    private let rendition: Int
    /// Of the last frame, 0 (best) to 63.
    private let quantizer: Int?
    /// The target of the sound's encoder, in bits a second; nil if this viewer does not get the sound.
    private let soundTarget: Int?
    /// What keeps the picture from being better or newer, in a word.
    private let limit: String?
    /// What it may say.
    private let talk: TalkState

    init(_ peer: PeerStatus, target: Int?, _ work: WebStatus.Work, _ talk: TalkState) {
        estimate = peer.estimate
        self.target = target
        queue = (peer.backlog / .microseconds(1)).rounded() / 1000
        rendition = peer.rung + 1
        soundTarget = peer.sound == nil ? nil : work.soundTarget
        (quantizer, limit) = (work.quantizer, work.limit)
        self.talk = talk
    }

    /// In one line.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // Finite numbers and words can always be encoded.
        return String(decoding: try! encoder.encode(self), as: UTF8.self)
    }
}
