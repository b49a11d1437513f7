package import ICE
package import Media
package import RTP
package import WebRTC

/// The coming of peers, by their offers or by this side's.
extension PeerLoop {
    /// Lets a peer in. Its path is sought from now on, and its picture encoded meanwhile.
    ///
    /// - Parameters:
    ///   - agreement: on a stream of pictures at the most, in codecs that there are renditions of, and one of sound.
    ///   - place: the origin of its signalling. Peers at one place may share a link.
    ///   - trickles: whether the peer is told of this side as soon as one candidate is known, and of others by `found`.
    /// - Returns: nil if no UDP port is free, or the machine has no address.
    package func add(
        _ agreement: Agreement,
        at place: String,
        trickles: Bool = false,
        delegate: any PeerDelegate
    ) -> Peer? {
        let isControlling = agreement.remote.isLite
        guard let transport = factory.transport(isControlling: isControlling, trickles: trickles, at: now) else {
            return nil
        }
        let sources = sources(of: agreement.streams, router.firstRendition(for: agreement))
        let streams = factory.bundle(sources, histories.pace, for: .one)
        let link = Peer.Link(transport: transport, streams: streams, audience: .one)
        return add(factory.nextID(), at: place, agreement, over: link, delegate)
    }

    /// Offers streams to somebody that is not a peer yet.
    ///
    /// - Parameters:
    ///   - locals: one of pictures at the most, in codecs that there are renditions of, and one of sound.
    ///   - servers: of STUN and TURN, beside those of all peers.
    ///   - gathered: gets the offer to send, on the network thread, after this method has returned.
    /// - Returns: the id of the peer that accepts it; nil if no UDP port is free, or the machine has no address.
    package func offer(
        _ locals: [LocalStream],
        for audience: Audience = .one,
        servers: [ICEServer] = [],
        gathered: @escaping (SessionOffer, SessionDescription) -> Void
    ) -> ParticipantID? {
        guard let transport = factory.transport(isControlling: true, servers, at: now) else { return nil }
        let offer = SessionOffer(locals)
        let streams = factory.bundle(sources(of: offer.streams, nil), histories.pace, for: audience)
        let link = Peer.Link(transport: transport, streams: streams, audience: audience)
        let id = factory.nextID()
        offers.append(PeerOffer(id: id, offer: offer, link: link, gathered: gathered))
        return id
    }

    /// Lets in the peer that has answered an offer. The offer is over then.
    ///
    /// - Parameters:
    ///   - id: from `offer`.
    ///   - place, delegate: as for `add`. `gathered` is not signalled.
    /// - Returns: nil without memory, or if the offer is over.
    package func accept(
        _ agreement: Agreement,
        ofOffer id: ParticipantID,
        at place: String,
        delegate: any PeerDelegate
    ) -> Peer? {
        guard let index = offers.firstIndex(where: { $0.id == id }) else { return nil }
        var link = offers.remove(at: index).link
        link.streams.keep(sources(of: agreement.streams, router.firstRendition(for: agreement)))
        let peer = add(id, at: place, agreement, over: link, delegate)
        // The offer may be older than the last change.
        _ = peer?.transport.follow(addresses: factory.network.addresses, at: now)
        return peer
    }

    package func withdrawOffer(_ id: ParticipantID) { offers.removeAll { $0.id == id } }

    /// The packets of streams. A stream that is not sent has none, and only reports.
    ///
    /// - Parameter rendition: the sent one; nil for the first of the usual codec.
    private func sources(
        of streams: [AgreedStream],
        _ rendition: Rendition?
    ) -> [(parameters: OutgoingStream.Parameters, history: PacketHistory)] {
        streams.map { stream in
            guard case .video(let usual) = stream.formats[0].codec else {
                return (stream.formats[0].parameters, stream.isSent ? sound.history : SharedSound.makeHistory())
            }
            let rendition = rendition ?? configuration.media.renditions.rendition(of: usual, rung: 0)
            let history = stream.isSent ? histories.history(of: rendition) : histories.makeHistory(of: rendition)
            return (stream[rendition.codec] ?? stream.formats[0].parameters, history)
        }
    }

    private func add(
        _ id: ParticipantID,
        at place: String,
        _ agreement: Agreement,
        over link: Peer.Link,
        _ delegate: any PeerDelegate
    ) -> Peer? {
        guard let peer = Peer(id, agreement, over: link, by: &factory, now: now, delegate: delegate) else { return nil }
        peers.append(peer)
        router.add(id, agreement, at: place, for: link.audience)
        round.hasChanged = true
        return peer
    }
}
