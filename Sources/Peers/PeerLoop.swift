import ICE
package import Media
import Posix
import RTP
package import Time
package import WebRTC

/// The work of the network thread: all peers, and the histories that they read.
package final class PeerLoop {
    /// The results of a round.
    struct Round {
        let now: Instant
        /// Whether the capacities of links are published.
        var looksAtLinks = false
        var hasNewFrames = false
        var hasNewSound = false
        /// Whether statuses are published at once.
        var hasChanged = false
        var signals: [(peer: Peer, signal: Peer.Signal)] = []
    }

    let configuration: PeerGroup.Configuration
    var factory: PeerFactory
    var histories: RenditionHistories
    var sound = SharedSound()
    var router: PeerRouter
    var peers: [Peer] = []
    var offers: [PeerOffer] = []
    /// For the datagrams of all peers.
    private var batch = DatagramBatch()
    private var departed = PeerTotals()
    private var schedule: RoundSchedule
    var round: Round

    /// The time of this round.
    package var now: Instant { round.now }

    init(
        _ configuration: PeerGroup.Configuration,
        identity: DTLSIdentity,
        loop: ICELoop,
        suspends: SuspendWatch?
    ) {
        self.configuration = configuration
        factory = PeerFactory(configuration, identity: identity, loop: loop, suspends: suspends)
        histories = RenditionHistories(configuration)
        router = PeerRouter(configuration.media.renditions)
        let now: Instant = MonotonicClock.now()
        (round, schedule) = (Round(now: now), RoundSchedule(at: now))
    }

    func run(for group: PeerGroup) {
        while true {
            let work = group.takeWork()
            round = Round(now: MonotonicClock.now())
            follow(work)
            followNetwork()
            for task in work.tasks { task(self) }
            for (packet, description) in work.sound { append(packet, description) }
            for (bytes, frame) in work.frames { append(bytes, frame) }
            if work.isClosed { closeAll() } else { poll() }
            removeEnded()
            publish(to: group)
            for (peer, signal) in round.signals { peer.delegate.peer(peer.id, signalled: signal) }
            if factory.silent.takeDoubt() { configuration.serversDoubted() }
            if work.isClosed { return factory.loop.finish(from: now) }
            factory.loop.run(until: nextDeadline)
        }
    }

    /// The latest time of the next round; nil if only an event brings it.
    private var nextDeadline: Instant? {
        let gatheringEnd = offers.lazy.compactMap(\.link.transport.gatheringEnd).min()
        let peersEnd = peers.isEmpty ? nil : peers.lazy.compactMap(\.nextDeadline).reduce(schedule.statusAt, min)
        return earliest(gatheringEnd, peersEnd, factory.network.deadline)
    }

    /// Follows the settings of other threads, and the capacities of links.
    private func follow(_ work: PeerGroup.Work) {
        // Packets are paced by the encoders' target.
        if histories.followTarget() { for peer in peers where peer.getsPicture { peer.setPace(histories.pace) } }
        if router.prefer(work.preferred) { round.hasChanged = true }
        factory.silent.servers = work.silentServers
        round.looksAtLinks = schedule.takeLinks(at: now)
        guard round.looksAtLinks, schedule.takePlacing(at: now) else { return }
        noteLinks()
        let need = Double(histories.bitrate) / RenditionCapacity.share
        if router.place(need: need, soundRate: sound.rate(at: now), at: now) { round.hasChanged = true }
    }

    private func followNetwork() {
        if let addresses = factory.network.takeChange(at: now) {
            for peer in peers where peer.end == nil { follow(peer) }
            configuration.addressesChanged(addresses)
        }
        if let time = factory.network.takeSuspend() {
            for peer in peers where peer.end == nil { peer.slept(for: time, at: now) }
            configuration.suspended(time)
        }
    }

    // MARK: - Peers

    /// A peer that has not ended.
    package func peer(_ id: ParticipantID) -> Peer? { peers.first { $0.id == id && $0.end == nil } }

    /// Prepares an ICE restart for a peer. `proposed` is signalled when the description is ready.
    ///
    /// - Returns: false if it cannot be prepared.
    package func propose(to peer: Peer) -> Bool { peer.transport.propose(from: factory.network.addresses, at: now) }

    /// Checks whether a path still begins at an address of the machine.
    package func follow(_ peer: Peer) {
        let addresses = factory.network.addresses
        if peer.transport.follow(addresses: addresses, at: now) { round.signals.append((peer, .migrating)) }
    }

    /// Says goodbye to a peer.
    package func close(_ peer: Peer, _ end: PeerSession.End) { peer.close(at: now, end, in: &batch) }

    private func closeAll() {
        offers.removeAll()
        for peer in peers { close(peer, .closed) }
    }

    // MARK: - Media

    private func append(_ packet: [UInt8], _ description: EncodedSound) {
        round.hasNewSound = true
        sound.append(packet, description, now: now)
    }

    private func append(_ bytes: [UInt8], _ frame: EncodedFrame) {
        round.hasNewFrames = true
        histories.history(of: configuration.rendition(frame.rendition)).append(
            frame: bytes,
            isKeyframe: frame.isKeyframe,
            dimensions: frame.dimensions,
            capturedAt: frame.capturedAt,
            captureTime: frame.captureTime,
            now: now
        )
    }

    /// Forgets packets from before the horizon. A requested keyframe may be among them.
    private func forgetPast() {
        if let horizon = configuration.media.soundHorizon(), sound.history.forget(takenBefore: horizon) {
            for peer in peers where peer.getsSound { peer.forgetHeld() }
        }
        guard let horizon = configuration.media.horizon(), histories.forget(takenBefore: horizon) else { return }
        for peer in peers { peer.forgetHeld() }
        router.requestAllKeyframes()
    }

    private func noteLinks() { for peer in peers { router.note(peer.linkReport(at: now), of: peer.id) } }

    private func change(_ peer: Peer) {
        guard let wanted = router.wanted(by: peer.id) else { return }
        let history = histories.history(of: wanted)
        guard router.change(peer.id, canBegin: history.canBegin(at: now), at: now) else { return }
        peer.change(to: wanted.codec, from: history, histories.pace)
        round.hasChanged = true
    }

    private func poll() {
        for peer in peers where peer.end == nil {
            // A pause may come at any time, also while packets go to other peers.
            forgetPast()
            if router.changing.contains(peer.id) { change(peer) }
            if round.hasNewFrames || round.hasNewSound && peer.getsSound || peer.mustPoll(at: now) {
                let needsKeyframe = peer.poll(at: now, in: &batch)
                if needsKeyframe { router.requestKeyframe(for: peer.id) }
                if peer.takeConnection(at: now) {
                    round.signals.append((peer, .connected(router.rendition(of: peer.id)?.codec)))
                }
            }
            if peer.transport.takeGathered(at: now) {
                if let local = peer.transport.local {
                    let isProposing = peer.transport.isProposing
                    round.signals.append((peer, isProposing ? .proposed(local) : .gathered(local, peer.streams)))
                } else {
                    close(peer, .pathLost)
                }
            }
            if let further = peer.transport.takeFurther(at: now) { round.signals.append((peer, .found(further))) }
        }
        for offer in offers { offer.tellIfGathered(at: now) }
    }

    private func removeEnded() {
        let ended = peers.filter { $0.end != nil }
        if ended.isEmpty { return }
        peers.removeAll { $0.end != nil }
        // The next peer begins with a new keyframe.
        if peers.isEmpty { histories.removeAll() }
        for peer in ended {
            departed.add(peer)
            if let end = peer.end { round.signals.append((peer, .ended(end))) }
            router.remove(peer.id)
        }
        round.hasChanged = true
    }

    // MARK: - Publishing

    private func publish(to group: PeerGroup) {
        if let elapsed = schedule.takeStatus(at: now) {
            for peer in peers { peer.measure(over: elapsed, at: now) }
            round.hasChanged = true
        }
        let isNews = round.hasChanged || !round.signals.isEmpty
        let keyframes = router.takeKeyframeRequests()
        // An encode that begins must know the size of its first frame. One that makes a keyframe must know that no packets wait.
        if isNews || round.hasNewFrames || round.looksAtLinks || !keyframes.isEmpty {
            noteLinks()
            let soundRate = sound.rate(at: now)
            let capacities = router.capacities(target: histories.bitrate, soundRate: soundRate, at: now)
            group.publish(capacities, router.soundDemand)
        }
        if isNews {
            var totals = departed
            for peer in peers { totals.add(peer) }
            let statuses = peers.map { $0.status(router.rendition(of: $0.id)) }
            group.publish(statuses, totals, router.renditionsInUse)
        }
        if !keyframes.isEmpty { group.request(keyframes) }
    }
}
