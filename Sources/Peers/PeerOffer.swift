import Media
import RTP
import Time
import WebRTC

/// An offer of this side until its answer. On the network thread.
final class PeerOffer {
    let id: ParticipantID
    let transport: PeerTransport
    let streams: StreamBundle
    let audience: Audience
    private let offer: SessionOffer
    private let gathered: (SessionOffer, SessionDescription) -> Void

    /// - Parameter gathered: gets the offer and its description, once, when the candidates of this side are known.
    init(
        _ id: ParticipantID,
        _ offer: SessionOffer,
        _ transport: PeerTransport,
        _ streams: StreamBundle,
        for audience: Audience,
        gathered: @escaping (SessionOffer, SessionDescription) -> Void
    ) {
        (self.id, self.offer, self.transport, self.streams) = (id, offer, transport, streams)
        (self.audience, self.gathered) = (audience, gathered)
    }

    func tellIfGathered(at now: Instant) {
        guard transport.takeGathered(at: now), let local = transport.local else { return }
        let sessionID = UInt64.random(in: 0...UInt64(Int64.max))
        gathered(offer, offer.description(local: local, bundle: streams, sessionID: sessionID))
    }
}
