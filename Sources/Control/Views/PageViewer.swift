import JSON
import Media

package struct PageViewer: Encodable, Sendable {
    private let estimateBps: Int?
    private let targetBps: Int?
    private let queueMs: Double?
    private let rendition: Int
    /// The quantizer of the last frame, 0 (best) to 63.
    private let quantizer: Int?
    /// The target of the sound's encoder, in bits a second; nil if this viewer does not get the sound.
    private let soundTargetBps: Int?
    /// The limit of the picture's quality or delay, in a word.
    private let limit: String?
    private let talk: TalkState
    /// Seconds until it has to go, unless it asks for more time; nil without a lease.
    private let leaseS: Double?
    /// Further facts, each a name and a text for people; nil for none.
    private let rows: [[String]]?

    /// - Parameter rendition: the viewer's present or possible rendition, 1 for that of viewers with good links.
    package init(_ viewer: ViewerSnapshot, rendition: Int, _ work: SenderSnapshot.Work) {
        let link = viewer.peer.link
        (estimateBps, targetBps, queueMs) = (link.estimateBps, link.targetBps, link.queueMs)
        (self.rendition, self.quantizer, self.limit) = (rendition, work.quantizer, work.limit?.rawValue)
        soundTargetBps = viewer.peer.media.soundBps == nil ? nil : work.sound?.targetBps
        (talk, leaseS) = (viewer.participant.talk, viewer.participant.leaseS)
        let rows = ViewerSnapshot.facts.compactMap { fact in
            fact.page.flatMap { name in fact.text(viewer).map { [name, $0] } }
        }
        self.rows = rows.isEmpty ? nil : rows
    }

    package var json: String {
        // Finite numbers and words can always be encoded.
        try! jsonLine()
    }
}
