import ICE
package import Media
import Posix
import RTP
package import Time
package import WebRTC

/// The network thread's work: all peers and the histories that they read.
package final class PeerLoop {
    private static let statusInterval = Duration.seconds(1)
    /// How often encoders learn what the links carry, and how often peers are placed by that on the ladder.
    private static let (linkInterval, placingInterval) = (Duration.milliseconds(20), Duration.milliseconds(100))

    let configuration: PeerGroup.Configuration
    let identity: DTLSIdentity
    let loop: ICELoop
    let network: LocalNetwork
    let silent = SilentServers()
    let clock = ClockReading(monotonic: MonotonicClock.now(), wall: MonotonicClock.wallClock())
    var random = SystemRandomNumberGenerator()
    var histories: RenditionHistories
    var sound = SharedSound()
    var router: PeerRouter
    var peers: [Peer] = []
    var offers: [PeerOffer] = []
    /// Where all peers' datagrams are written.
    private var batch = DatagramBatch()
    private var departed = PeerTotals()
    var lastNumber: Int
    private var statusAt: Instant
    private var statusBefore: Instant

    /// When this round began.
    package private(set) var now: Instant
    /// Whether others shall see what this round has changed at once.
    var hasChanged = false
    /// Whether frames, or packets of sound, were appended in this round.
    private var (hasNewFrames, hasNewSound) = (false, false)
    /// When the links were looked at last.
    private var linksAt = Instant.start
    /// When peers were placed on the ladder last.
    private var placedAt = Instant.start
    /// What became of peers in this round.
    private var signals: [(peer: Peer, signal: Peer.Signal)] = []

    init(
        _ configuration: PeerGroup.Configuration,
        identity: DTLSIdentity,
        loop: ICELoop,
        suspends: SuspendWatch?
    ) {
        self.configuration = configuration
        histories = RenditionHistories(configuration)
        self.identity = identity
        self.loop = loop
        network = LocalNetwork(in: loop, suspends)
        lastNumber = configuration.firstNumber - 1
        router = PeerRouter(configuration.renditions)
        let now: Instant = MonotonicClock.now()
        (self.now, statusAt, statusBefore) = (now, now, now)
    }

    func run(for group: PeerGroup) {
        while true {
            let work = group.takeWork()
            now = MonotonicClock.now()
            followTarget()
            if router.prefer(work.preferred) { hasChanged = true }
            silent.servers = work.silentServers
            let looksAtLinks = now >= linksAt + Self.linkInterval
            if looksAtLinks {
                linksAt = now
                if now >= placedAt + Self.placingInterval { place() }
            }
            if let addresses = network.takeChange(at: now) {
                for peer in peers where peer.end == nil { follow(peer) }
                group.tell(addresses: addresses)
            }
            if let time = network.takeSuspend() {
                for peer in peers where peer.end == nil { peer.slept(for: time, at: now) }
                group.tell(suspended: time)
            }
            for task in work.tasks { task(self) }
            for (packet, description) in work.sound { append(packet, description) }
            for (bytes, frame) in work.frames { append(bytes, frame) }
            let hasSentFrames = hasNewFrames
            if work.isClosed {
                offers.removeAll()
                for peer in peers { peer.close(at: now, .closed, in: &batch) }
            } else {
                poll()
            }
            removeEnded()
            publish(to: group, capacitiesAreDue: hasSentFrames || looksAtLinks)
            tellSignals()
            if silent.takeDoubt() { group.tellDoubt() }
            if work.isClosed { return loop.finish(from: now) }
            let gatheringEnd = offers.lazy.compactMap(\.transport.gatheringEnd).min()
            let peersEnd = peers.isEmpty ? nil : peers.lazy.compactMap(\.nextDeadline).reduce(statusAt, min)
            loop.run(until: earliest(gatheringEnd, peersEnd, network.deadline))
        }
    }

    // MARK: - Peers

    /// A peer that has not ended.
    package func peer(_ id: ParticipantID) -> Peer? { peers.first { $0.id == id && $0.end == nil } }

    /// Prepares an ICE restart for a peer, which is signalled as `proposed` when the description is ready.
    ///
    /// - Returns: false if it cannot be prepared.
    package func propose(to peer: Peer) -> Bool { peer.propose(from: network.addresses, at: now) }

    /// Has a peer check whether its path still begins at an address of the machine, such as after it could not be told of changes.
    package func follow(_ peer: Peer) {
        if peer.follow(addresses: network.addresses, at: now) { signals.append((peer, .migrating)) }
    }

    /// Says goodbye to a peer.
    ///
    /// - Parameter end: why.
    package func close(_ peer: Peer, _ end: PeerSession.End) { peer.close(at: now, end, in: &batch) }

    private func tellSignals() {
        let signals = signals
        self.signals.removeAll()
        for (peer, signal) in signals { peer.delegate.peer(peer.id, signalled: signal) }
    }

    // MARK: - Media

    private func append(_ packet: [UInt8], _ description: EncodedSound) {
        hasNewSound = true
        sound.append(packet, description, now: now)
    }

    private func append(_ bytes: [UInt8], _ frame: EncodedFrame) {
        hasNewFrames = true
        histories.history(of: configuration.rendition(frame.rendition)).append(
            frame: bytes,
            isKeyframe: frame.isKeyframe,
            dimensions: frame.dimensions,
            capturedAt: frame.capturedAt,
            takenAt: frame.takenAt,
            now: now
        )
    }

    /// Forgets what may not be sent any more. A keyframe that was asked for may be gone with it.
    private func forgetPast() {
        if let horizon = configuration.soundHorizon(), sound.history.forget(takenBefore: horizon) {
            for peer in peers where peer.getsSound { peer.forgetHeld() }
        }
        guard let horizon = configuration.horizon(), histories.forget(takenBefore: horizon) else { return }
        for peer in peers { peer.forgetHeld() }
        router.requestAllKeyframes()
    }

    /// Paces packets by the encoders' target.
    private func followTarget() {
        guard histories.followTarget() else { return }
        for peer in peers where peer.getsPicture { peer.setPace(histories.pace) }
    }

    private func noteLinks() { for peer in peers { router.note(peer.linkReport(at: now), of: peer.id) } }

    /// Gives each peer the rung that its link carries.
    private func place() {
        placedAt = now
        noteLinks()
        let need = Double(histories.bitrate) / RenditionCapacity.share
        if router.place(need: need, soundRate: sound.rate(at: now), at: now) { hasChanged = true }
    }

    private func change(_ peer: Peer) {
        guard let wanted = router.wanted(by: peer.id) else { return }
        let history = histories.history(of: wanted)
        guard router.change(peer.id, canBegin: history.canBegin(at: now), at: now) else { return }
        peer.change(to: wanted.codec, from: history, histories.pace)
        hasChanged = true
    }

    /// Lets each peer that has something to do receive and send, and notes the outcome.
    private func poll() {
        for peer in peers where peer.end == nil {
            // A pause may come at any time, also while packets go to other peers.
            forgetPast()
            if router.changing.contains(peer.id) { change(peer) }
            if hasNewFrames || hasNewSound && peer.getsSound || peer.mustPoll(at: now) {
                let needsKeyframe = peer.poll(at: now, in: &batch)
                if needsKeyframe { router.requestKeyframe(for: peer.id) }
                if peer.takeConnection(at: now) { signals.append((peer, .connected(status(of: peer)))) }
            }
            if peer.takeGathered(at: now) {
                if let local = peer.local {
                    signals.append((peer, peer.isProposing ? .proposed(local) : .gathered(local, peer.streams)))
                } else {
                    close(peer, .pathLost)
                }
            }
            if let further = peer.takeFurther(at: now) { signals.append((peer, .found(further))) }
        }
        (hasNewFrames, hasNewSound) = (false, false)
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
            if let end = peer.end { signals.append((peer, .ended(end, status(of: peer)))) }
            router.remove(peer.id)
        }
        hasChanged = true
    }

    // MARK: - What others see

    private func status(of peer: Peer) -> PeerStatus { peer.status(router.rendition(of: peer.id)) }

    private func publish(to group: PeerGroup, capacitiesAreDue: Bool) {
        if now >= statusAt {
            for peer in peers { peer.measure(over: now - statusBefore, at: now) }
            statusBefore = now
            statusAt = now + Self.statusInterval
            hasChanged = true
        }
        // An encode that begins must know the size of its first frame. One that makes a keyframe must know that no packets wait.
        let keyframes = router.takeKeyframeRequests()
        if capacitiesAreDue || hasChanged || !signals.isEmpty || !keyframes.isEmpty {
            noteLinks()
            let soundRate = sound.rate(at: now)
            let capacities = router.capacities(target: histories.bitrate, soundRate: soundRate, at: now)
            group.publish(capacities, router.soundDemand)
        }
        if hasChanged || !signals.isEmpty {
            var totals = departed
            for peer in peers { totals.add(peer) }
            group.publish(peers.map(status), totals, router.renditionsInUse)
        }
        if !keyframes.isEmpty { group.request(keyframes) }
        hasChanged = false
    }
}
