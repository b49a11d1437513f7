import Media
import Time
import WebRTC

/// An offer of this side until its answer. On the network thread.
struct PeerOffer {
    /// Of the peer that accepts it.
    let id: ParticipantID
    let offer: SessionOffer
    let link: Peer.Link
    /// Gets the offer and its description, once, when the candidates of this side are known.
    let gathered: (SessionOffer, SessionDescription) -> Void

    func tellIfGathered(at now: Instant) {
        guard link.transport.takeGathered(at: now), let local = link.transport.local else { return }
        let sessionID = UInt64.random(in: 0...UInt64(Int64.max))
        gathered(offer, offer.description(local: local, bundle: link.streams, sessionID: sessionID))
    }
}
