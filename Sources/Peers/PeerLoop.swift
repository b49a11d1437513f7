package import Media
import Posix
package import RTP
package import Time
package import WebRTC

/// The network thread's work: all peers and the histories that they read.
package final class PeerLoop {
    private static let statusInterval = Duration.seconds(1)
    /// How often encoders learn what the links carry, and how often peers are placed by that on the ladder.
    private static let (linkInterval, placingInterval) = (Duration.milliseconds(20), Duration.milliseconds(100))
    /// Seconds of packets that can be sent again, at the target bitrate.
    private static let historyLength = 2

    private let configuration: PeerGroup.Configuration
    private let identity: DTLSIdentity
    private let loop: ICELoop
    private let network: LocalNetwork
    private let silent = SilentServers()
    private let clock = ClockReading(monotonic: MonotonicClock.now(), wall: MonotonicClock.wallClock())
    private var random = SystemRandomNumberGenerator()
    private var histories: [Rendition.ID: PacketHistory] = [:]
    private var sound = SharedSound()
    private var peers: [Peer] = []
    private var offers: [PeerOffer] = []
    /// Where all peers' datagrams are written.
    private var batch = DatagramBatch()
    /// The codecs that suit the picture best, by rungs; VP8 where nothing was said.
    private var preferred: [Int: VideoCodec] = [:]
    private var ladder: RenditionLadder
    /// The encoders' target in bits a second; nil for the renditions' own.
    private var targetBitrate: Int?
    private var departed = PeerTotals()
    private var lastNumber: Int
    private var statusAt: Instant
    private var statusBefore: Instant

    /// When this round began.
    package private(set) var now: Instant
    /// Whether others shall see what this round has changed at once.
    private var hasChanged = false
    /// Whether frames, or packets of sound, were appended in this round.
    private var (hasNewFrames, hasNewSound) = (false, false)
    private var requestedKeyframes: [Rendition.ID] = []
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
        self.identity = identity
        self.loop = loop
        network = LocalNetwork(in: loop, suspends)
        lastNumber = configuration.firstNumber - 1
        ladder = RenditionLadder(count: configuration.renditions.map(\.rung).max()! + 1)
        let now: Instant = MonotonicClock.now()
        (self.now, statusAt, statusBefore) = (now, now, now)
    }

    func run(for group: PeerGroup) {
        while true {
            let work = group.takeWork()
            now = MonotonicClock.now()
            follow(bitrate: work.targetBitrate)
            follow(work.preferred)
            silent.servers = work.silentServers
            let looksAtLinks = now >= linksAt + Self.linkInterval
            if looksAtLinks {
                linksAt = now
                if now >= placedAt + Self.placingInterval { followLinks() }
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

    // MARK: - Signalling

    /// Lets a peer in. Its path is sought from now on, and its picture encoded meanwhile.
    ///
    /// - Parameters:
    ///   - agreement: on a stream of pictures at the most, in codecs that there are renditions of, and one of sound.
    ///   - call: the call that it is in, as people name it.
    ///   - address: where it was signalled from.
    ///   - receiver: takes the picture that the peer sends.
    ///   - trickles: whether the peer is told of this side as soon as one candidate is known, and of others by `found`.
    ///   - signalled: is called on the network thread, and not by this method.
    /// - Returns: nil if no UDP port is free, or the machine has no address.
    package func add(
        _ agreement: Agreement,
        of call: String,
        from address: String,
        receiver: (any FrameReceiver)? = nil,
        trickles: Bool = false,
        signalled: @escaping (Peer.Signal) -> Void
    ) -> Peer? {
        guard let transport = transport(isControlling: agreement.remote.isLite, trickles: trickles) else { return nil }
        let choice = firstChoice(agreement)
        lastNumber += 1
        return add(
            lastNumber,
            agreement,
            choice,
            bundle(of: agreement.streams, choice),
            for: .one,
            receiver,
            over: transport,
            of: call,
            from: address,
            signalled
        )
    }

    /// Offers streams to one who is not a peer yet.
    ///
    /// - Parameters:
    ///   - locals: one of pictures at the most, in codecs that there are renditions of, and one of sound.
    ///   - audience: who sees and hears what is sent.
    ///   - servers: of STUN and TURN, beside those of all peers.
    ///   - gathered: gets the offer as it is to be sent, on the network thread, and not by this method.
    /// - Returns: the offer's number, which is that of the peer who accepts it; nil if no UDP port is free, or the machine has no
    ///   address.
    package func offer(
        _ locals: [LocalStream],
        for audience: Audience = .one,
        servers: [ICEServer] = [],
        gathered: @escaping (SessionOffer, SessionDescription) -> Void
    ) -> Int? {
        guard let transport = transport(isControlling: true, servers) else { return nil }
        let offer = SessionOffer(locals)
        let streams = bundle(of: offer.streams, nil, for: audience)
        lastNumber += 1
        offers.append(PeerOffer(lastNumber, offer, transport, streams, for: audience, gathered: gathered))
        return lastNumber
    }

    /// Lets in the one who has answered an offer, which is over by that.
    ///
    /// - Parameters:
    ///   - number: the offer's.
    ///   - call, address, receiver, signalled: as of `add`, but not of what was gathered.
    /// - Returns: nil without memory, or if the offer is over.
    package func accept(
        _ agreement: Agreement,
        ofOffer number: Int,
        of call: String,
        from address: String,
        receiver: (any FrameReceiver)? = nil,
        signalled: @escaping (Peer.Signal) -> Void
    ) -> Peer? {
        guard let index = offers.firstIndex(where: { $0.number == number }) else { return nil }
        let offered = offers.remove(at: index)
        let choice = firstChoice(agreement)
        var streams = offered.streams
        streams.keep(sources(of: agreement.streams, choice))
        let peer = add(
            number,
            agreement,
            choice,
            streams,
            for: offered.audience,
            receiver,
            over: offered.transport,
            of: call,
            from: address,
            signalled
        )
        // The offer may be older than the last change.
        _ = peer?.follow(addresses: network.addresses, at: now)
        return peer
    }

    /// Takes an offer back.
    package func withdrawOffer(_ number: Int) { offers.removeAll { $0.number == number } }

    /// - Parameter servers: beside those of all peers.
    private func transport(
        isControlling: Bool,
        trickles: Bool = false,
        _ servers: [ICEServer] = []
    ) -> PeerTransport? {
        var ice = configuration.ice
        ice.servers += servers
        return PeerTransport(
            in: loop,
            ice,
            isControlling: isControlling,
            identity: identity,
            trickles: trickles,
            without: silent,
            addresses: network.addresses,
            now: now
        )
    }

    /// What a peer gets first; nil for no picture.
    private func firstChoice(_ agreement: Agreement) -> Peer.Choice? {
        guard let video = agreement.video, video.isSent else { return nil }
        return video.codec(preferring: preferredCodec(on: 0)).map { Peer.Choice(codec: $0, rung: 0) }
    }

    /// - Parameter choice: the rendition that is sent; nil for the first of the usual codec.
    private func bundle(
        of streams: [Negotiation.Stream],
        _ choice: Peer.Choice?,
        for audience: Audience = .one
    ) -> StreamBundle {
        StreamBundle(
            sources(of: streams, choice),
            pace: pace(of: choice.map(rendition) ?? configuration.renditions[0]),
            audience: audience,
            opensSpeakers: true,
            clock: clock,
            using: &random
        )
    }

    /// What is sent in streams, and where it comes from: nothing where only reports go out.
    private func sources(
        of streams: [Negotiation.Stream],
        _ choice: Peer.Choice?
    ) -> [(parameters: OutgoingStream.Parameters, history: PacketHistory)] {
        streams.map { stream in
            guard case .video(let usual) = stream.formats[0].codec else {
                return (stream.formats[0].parameters, stream.isSent ? sound.history : SharedSound.makeHistory())
            }
            let rendition = rendition(of: choice ?? Peer.Choice(codec: usual, rung: 0))
            let history = stream.isSent ? history(of: rendition) : makeHistory(of: rendition)
            return (stream[rendition.codec] ?? stream.formats[0].parameters, history)
        }
    }

    private func add(
        _ number: Int,
        _ agreement: Agreement,
        _ choice: Peer.Choice?,
        _ streams: StreamBundle,
        for audience: Audience,
        _ receiver: (any FrameReceiver)?,
        over transport: PeerTransport,
        of call: String,
        from address: String,
        _ signalled: @escaping (Peer.Signal) -> Void
    ) -> Peer? {
        let peer = Peer(
            number,
            of: call,
            from: address,
            agreement,
            choice,
            streams,
            for: audience,
            incoming: agreement.incoming(using: &random),
            receiver,
            voices: configuration.voices,
            over: transport,
            identity: identity,
            now: now,
            signalled: signalled
        )
        guard let peer else { return nil }
        // If others get this rendition, a peer that never finds a path shall not cost them a keyframe.
        if let choice, !peers.contains(where: { $0.isConnected && $0.choice == choice }) {
            requestedKeyframes.append(rendition(of: choice).id)
        }
        peers.append(peer)
        if peer.canSpeak { configuration.voices?.begin(number) }
        hasChanged = true
        return peer
    }

    /// A peer that has not ended.
    package func peer(_ number: Int) -> Peer? { peers.first { $0.number == number && $0.end == nil } }

    /// Prepares another generation of ICE for a peer, which is signalled as `proposed` when it is to be told.
    ///
    /// - Returns: false if none can be prepared.
    package func propose(to peer: Peer) -> Bool { peer.propose(from: network.addresses, at: now) }

    /// Has a peer look whether its path begins at an address that the machine has, as when it could not be asked for a while.
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
        for (peer, signal) in signals { peer.signalled(signal) }
    }

    // MARK: - Media

    private func append(_ packet: [UInt8], _ description: EncodedSound) {
        hasNewSound = true
        sound.append(packet, description, now: now)
    }

    private func append(_ bytes: [UInt8], _ frame: EncodedFrame) {
        hasNewFrames = true
        history(of: configuration.rendition(frame.rendition)).append(
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
        guard let horizon = configuration.horizon() else { return }
        var hasForgotten = false
        for history in histories.values where history.forget(takenBefore: horizon) { hasForgotten = true }
        guard hasForgotten else { return }
        for peer in peers { peer.forgetHeld() }
        requestedKeyframes += renditionsInUse
    }

    /// The renditions that peers get, and those that they wait for.
    private var renditionsInUse: Set<Rendition.ID> {
        Set(peers.flatMap { [$0.choice, $0.wanted].compactMap { $0.map { rendition(of: $0).id } } })
    }

    private func rendition(of choice: Peer.Choice) -> Rendition {
        configuration.rendition(of: choice.codec, rung: choice.rung)
    }

    private func preferredCodec(on rung: Int) -> VideoCodec { preferred[rung] ?? .vp8 }

    /// Prefers the codecs that the sender prefers.
    private func follow(_ preferred: [Int: VideoCodec]) {
        guard preferred != self.preferred else { return }
        self.preferred = preferred
        chooseRenditions()
    }

    /// Gives each peer the rung that its link carries.
    private func followLinks() {
        placedAt = now
        let most = configuration.renditions.map { Double(targetBitrate ?? $0.bitrate) }.max()!
        ladder.place(
            peers.map { peer in
                RenditionLadder.Link(
                    peer: peer.number,
                    rate: pictureLink(of: peer)?.estimate,
                    address: peer.address,
                    loss: peer.statistics.lossFraction ?? 0
                )
            },
            need: most / RenditionCapacity.share,
            at: now
        )
        if peers.contains(where: { peer in peer.wanted.map { $0.rung != ladder.rung(of: peer.number) } ?? false }) {
            chooseRenditions()
        }
    }

    private func chooseRenditions() {
        for peer in peers {
            let (before, rung) = (peer.wanted, ladder.rung(of: peer.number))
            peer.want(rung: rung, preferring: preferredCodec(on: rung))
            if peer.wanted != before { hasChanged = true }
        }
    }

    /// Sets another target bitrate of the encoders; nil leaves the renditions' own.
    private func follow(bitrate: Int?) {
        guard let bitrate, bitrate != targetBitrate else { return }
        targetBitrate = bitrate
        for peer in peers { if let choice = peer.choice { peer.setPace(pace(of: rendition(of: choice))) } }
        for (id, history) in histories { history.setCapacity(capacity(of: configuration.rendition(id))) }
    }

    private func pace(of rendition: Rendition) -> Pacer.Pace {
        .video(targetBitrate: UInt64(targetBitrate ?? rendition.bitrate))
    }

    private func history(of rendition: Rendition) -> PacketHistory {
        if let history = histories[rendition.id] { return history }
        let history = makeHistory(of: rendition)
        histories[rendition.id] = history
        return history
    }

    private func makeHistory(of rendition: Rendition) -> PacketHistory {
        PacketHistory(
            codec: rendition.codec,
            maximumPayloadSize: PeerSession.maximumPayloadSize,
            capacity: capacity(of: rendition),
            using: &random
        )
    }

    /// Packets that are kept of a rendition.
    private func capacity(of rendition: Rendition) -> Int {
        // The largest keyframe grows with the picture.
        let largestKeyframe = rendition.width * rendition.height / 512
        let bytesPerSecond = (targetBitrate ?? rendition.bitrate) / 8
        return max(largestKeyframe, bytesPerSecond * Self.historyLength / PeerSession.maximumPayloadSize)
    }

    /// Lets each peer that has something to do receive and send, and notes the outcome.
    private func poll() {
        for peer in peers where peer.end == nil {
            // A pause may come at any time, also while packets go to other peers.
            forgetPast()
            if peer.wanted != peer.choice { change(peer) }
            if hasNewFrames || hasNewSound && peer.getsSound || peer.mustPoll(at: now) {
                let needsKeyframe = peer.poll(at: now, in: &batch)
                if needsKeyframe, let choice = peer.choice { requestedKeyframes.append(rendition(of: choice).id) }
                if peer.takeConnection(at: now) { signals.append((peer, .connected(peer.status))) }
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

    private func change(_ peer: Peer) {
        guard let wanted = peer.wanted.map(rendition) else { return }
        if peer.change(to: history(of: wanted), at: now) { requestedKeyframes.append(wanted.id) }
        guard peer.choice == peer.wanted else { return }
        peer.setPace(pace(of: wanted))
        hasChanged = true
    }

    private func removeEnded() {
        let ended = peers.filter { $0.end != nil }
        if ended.isEmpty { return }
        peers.removeAll { $0.end != nil }
        // The next peer begins with a new keyframe.
        if peers.isEmpty { histories.removeAll() }
        for peer in ended {
            departed.add(peer)
            if peer.canSpeak { configuration.voices?.end(peer.number) }
            if let end = peer.end { signals.append((peer, .ended(end, peer.status))) }
        }
        hasChanged = true
    }

    /// What a peer's link carries of pictures: what the sound leaves, and half of it at the least.
    private func pictureLink(of peer: Peer) -> RenditionCapacity.Link? {
        guard peer.getsPicture, var link = peer.link(at: now) else { return nil }
        if peer.getsSound { link.estimate = max(link.estimate - sound.rate(at: now), link.estimate / 2) }
        return link
    }

    /// What the links allow of each rendition that is sent.
    private var capacities: [Rendition.ID: RenditionCapacity] {
        var links: [Rendition.ID: [RenditionCapacity.Link]] = [:]
        for peer in peers {
            guard let choice = peer.choice, let wanted = peer.wanted, var link = pictureLink(of: peer) else { continue }
            link.isWaitedFor = ladder.isWaitedFor(peer.number, at: now)
            links[rendition(of: choice).id, default: []].append(link)
            if wanted == choice { continue }
            // What waits is dropped at the change.
            link.backlog = .zero
            links[rendition(of: wanted).id, default: []].append(link)
        }
        return Dictionary(
            uniqueKeysWithValues: renditionsInUse.map { id in
                let most = targetBitrate ?? configuration.rendition(id).bitrate
                let isMeasuring = peers.allSatisfy { peer in
                    let renditions = [peer.choice, peer.wanted].compactMap { $0.map { rendition(of: $0).id } }
                    return !renditions.contains(id) || peer.measuresLink(at: now)
                }
                return (id, RenditionCapacity(links[id] ?? [], isMeasuring: isMeasuring, most: most, at: now))
            }
        )
    }

    /// What the peers want of the sound.
    private var soundDemand: SoundDemand {
        let listeners = peers.filter { $0.getsSound && $0.isConnected }
        return SoundDemand(
            isWanted: !listeners.isEmpty,
            bitrate: SoundCapacity(listeners.compactMap { $0.link(at: now)?.estimate }).bitrate,
            lossRatio: (100 * (listeners.compactMap(\.soundStatistics.lossFraction).max() ?? 0)).rounded() / 100,
            isKeptAlive: listeners.contains { $0.audience == .forwarded }
        )
    }

    // MARK: - What others see

    private func publish(to group: PeerGroup, capacitiesAreDue: Bool) {
        if now >= statusAt {
            for peer in peers { peer.measure(over: now - statusBefore, at: now) }
            statusBefore = now
            statusAt = now + Self.statusInterval
            hasChanged = true
        }
        // An encode that begins must know what its first frame may take, and one that makes a keyframe that nothing waits before it.
        if capacitiesAreDue || hasChanged || !signals.isEmpty || !requestedKeyframes.isEmpty {
            group.publish(capacities, soundDemand)
        }
        if hasChanged || !signals.isEmpty {
            var totals = departed
            for peer in peers { totals.add(peer) }
            group.publish(peers.map(\.status), totals, renditionsInUse)
        }
        if !requestedKeyframes.isEmpty { group.request(requestedKeyframes) }
        hasChanged = false
        requestedKeyframes.removeAll()
    }
}
