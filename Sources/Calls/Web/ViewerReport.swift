import JSON
import Media
import Peers
import Time

/// What the sender knows of the way to a viewer, for the viewer's page.
struct ViewerReport: Encodable {
    /// What its link carries, in bits a second; nil where nothing tells.
    private let estimateBps: Int?
    /// The target of its encoder, in bits a second, as the links allow it.
    private let targetBps: Int?
    /// How long the last of what waits for it has to wait, in milliseconds.
    private let queueMs: Double
    /// 1 for what viewers with good links get; more for the encodes of worse ones.
    private let rendition: Int
    /// Of the last frame, 0 (best) to 63.
    private let quantizer: Int?
    /// The target of the sound's encoder, in bits a second; nil if this viewer does not get the sound.
    private let soundTargetBps: Int?
    /// What keeps the picture from being better or newer, in a word.
    private let limit: String?
    /// What it may say.
    private let talk: TalkState

    init(_ peer: PeerStatus, target: Int?, _ work: WebStatus.Work, _ talk: TalkState) {
        estimateBps = peer.estimate
        targetBps = target
        queueMs = (peer.backlog / .microseconds(1)).rounded() / 1000
        rendition = peer.rung + 1
        soundTargetBps = peer.sound == nil ? nil : work.soundTarget
        (quantizer, limit) = (work.quantizer, work.limit)
        self.talk = talk
    }

    /// In one line.
    var json: String {
        // Finite numbers and words can always be encoded.
        try! jsonLine()
    }
}
