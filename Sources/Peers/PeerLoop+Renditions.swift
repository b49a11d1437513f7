import Media
import RTP
import Time

/// The renditions and the sound that peers get, by what their links carry.
extension PeerLoop {
    func rendition(of choice: Peer.Choice) -> Rendition {
        configuration.rendition(of: choice.codec, rung: choice.rung)
    }

    /// The renditions that peers get, and those that they wait for.
    var renditionsInUse: Set<Rendition.ID> {
        Set(peers.flatMap { [$0.choice, $0.wanted].compactMap { $0.map { rendition(of: $0).id } } })
    }

    func preferredCodec(on rung: Int) -> VideoCodec { preferred[rung] ?? .vp8 }

    /// Prefers the codecs that the sender prefers.
    func follow(_ preferred: [Int: VideoCodec]) {
        guard preferred != self.preferred else { return }
        self.preferred = preferred
        chooseRenditions()
    }

    /// Gives each peer the rung that its link carries.
    func followLinks() {
        placedAt = now
        ladder.place(
            peers.map { peer in
                RenditionLadder.Link(
                    peer: peer.id,
                    rate: pictureLink(of: peer)?.estimate,
                    address: peer.place.address,
                    loss: peer.statistics.lossFraction ?? 0
                )
            },
            need: Double(histories.bitrate) / RenditionCapacity.share,
            at: now
        )
        if peers.contains(where: { peer in peer.wanted.map { $0.rung != ladder.rung(of: peer.id) } ?? false }) {
            chooseRenditions()
        }
    }

    private func chooseRenditions() {
        for peer in peers {
            let (before, rung) = (peer.wanted, ladder.rung(of: peer.id))
            peer.want(rung: rung, preferring: preferredCodec(on: rung))
            if peer.wanted != before { hasChanged = true }
        }
    }

    /// Paces packets by the encoders' target.
    func followTarget() {
        guard histories.followTarget() else { return }
        for peer in peers where peer.choice != nil { peer.setPace(histories.pace) }
    }

    func change(_ peer: Peer) {
        guard let wanted = peer.wanted.map(rendition) else { return }
        if peer.change(to: histories.history(of: wanted), at: now) { requestedKeyframes.append(wanted.id) }
        guard peer.choice == peer.wanted else { return }
        peer.setPace(histories.pace)
        hasChanged = true
    }

    /// The part of a peer's link for pictures: without the rate of the sound, but at least half of the link.
    private func pictureLink(of peer: Peer) -> RenditionCapacity.Link? {
        guard peer.getsPicture, var link = peer.link(at: now) else { return nil }
        if peer.getsSound { link.estimate = max(link.estimate - sound.rate(at: now), link.estimate / 2) }
        return link
    }

    /// The capacity of the links for each rendition that is sent.
    var capacities: [Rendition.ID: RenditionCapacity] {
        var links: [Rendition.ID: [RenditionCapacity.Link]] = [:]
        for peer in peers {
            guard let choice = peer.choice, let wanted = peer.wanted, var link = pictureLink(of: peer) else { continue }
            link.isWaitedFor = ladder.isWaitedFor(peer.id, at: now)
            links[rendition(of: choice).id, default: []].append(link)
            if wanted == choice { continue }
            // What waits is dropped at the change.
            link.backlog = .zero
            links[rendition(of: wanted).id, default: []].append(link)
        }
        return Dictionary(
            uniqueKeysWithValues: renditionsInUse.map { id in
                let isMeasuring = peers.allSatisfy { peer in
                    let renditions = [peer.choice, peer.wanted].compactMap { $0.map { rendition(of: $0).id } }
                    return !renditions.contains(id) || peer.measuresLink(at: now)
                }
                return (
                    id, RenditionCapacity(links[id] ?? [], isMeasuring: isMeasuring, most: histories.bitrate, at: now)
                )
            }
        )
    }

    /// What the peers want of the sound.
    var soundDemand: SoundDemand {
        let listeners = peers.filter { $0.getsSound && $0.isConnected }
        return SoundDemand(
            isWanted: !listeners.isEmpty,
            bitrate: SoundCapacity(listeners.compactMap { $0.link(at: now)?.estimate }).bitrate,
            lossRatio: (100 * (listeners.compactMap(\.soundStatistics.lossFraction).max() ?? 0)).rounded() / 100,
            isKeptAlive: listeners.contains { $0.audience == .forwarded }
        )
    }
}
