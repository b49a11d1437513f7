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
    private let clock = ClockReading(monotonic: MonotonicClock.now(), wall: MonotonicClock.wallClock())
    private var random = SystemRandomNumberGenerator()
    private var histories: [Rendition.ID: PacketHistory] = [:]
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
    private var lastNumber = 0
    private var statusAt: Instant
    private var statusBefore: Instant

    /// When this round began.
    package private(set) var now: Instant
    /// Whether others shall see what this round has changed at once.
    private var hasChanged = false
    /// Whether frames were appended in this round.
    private var hasNewFrames = false
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
    ///   - agreement: with a stream of video first, in codecs that there are renditions of; the others are not sent.
    ///   - call: the call that it is in, as people name it.
    ///   - address: where it was signalled from.
    ///   - receiver: takes what the peer sends.
    ///   - signalled: is called on the network thread, and not by this method.
    /// - Returns: nil if no UDP port is free, the machine has no address, or the first stream is sound.
    package func add(
        _ agreement: Agreement,
        of call: String,
        from address: String,
        receiver: (any FrameReceiver)? = nil,
        signalled: @escaping (Peer.Signal) -> Void
    ) -> Peer? {
        guard let codecs = agreement.videoCodecs, let transport = transport(isControlling: agreement.remote.isLite)
        else { return nil }
        let choice = Peer.Choice(format: agreement.format(preferring: preferredCodec(on: 0)), rung: 0)
        let streams = bundle(
            of: agreement.streams[0].formats[choice.format].parameters,
            configuration.rendition(of: codecs[choice.format], rung: choice.rung),
            isSending: agreement.streams[0].isSent
        )
        lastNumber += 1
        return add(
            lastNumber,
            agreement,
            codecs,
            choice,
            streams,
            receiver,
            over: transport,
            of: call,
            from: address,
            signalled
        )
    }

    /// Offers a stream of video to one who is not a peer yet.
    ///
    /// - Parameters:
    ///   - codecs: those that there are renditions of, in groups; all are offered.
    ///   - receives: whether this side takes video in these codecs, too.
    ///   - audience: who sees what is sent.
    ///   - servers: of STUN and TURN, beside those of all peers.
    ///   - gathered: gets the offer as it is to be sent, on the network thread, and not by this method.
    /// - Returns: the offer's number, which is that of the peer who accepts it; nil if no UDP port is free, or the machine has no
    ///   address.
    package func offer(
        _ codecs: [[VideoCodec]],
        track: String,
        receives: Bool = false,
        for audience: Audience = .one,
        servers: [ICEServer] = [],
        gathered: @escaping (SessionOffer, SessionDescription) -> Void
    ) -> Int? {
        guard let transport = transport(isControlling: true, servers) else { return nil }
        let offer = SessionOffer([
            LocalStream(track: track, codecs: codecs.map { $0.map { .video($0) } }, receives: receives)
        ])
        let streams = bundle(
            of: offer.streams[0].formats[0].parameters,
            configuration.rendition(of: codecs[0][0], rung: 0),
            for: audience
        )
        lastNumber += 1
        offers.append(PeerOffer(lastNumber, offer, transport, streams, gathered: gathered))
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
        guard let codecs = agreement.videoCodecs else { return nil }
        let choice = Peer.Choice(format: agreement.format(preferring: preferredCodec(on: 0)), rung: 0)
        let rendition = configuration.rendition(of: codecs[choice.format], rung: choice.rung)
        var streams = offered.streams
        let history = agreement.streams[0].isSent ? history(of: rendition) : makeHistory(of: rendition)
        streams.keep([(agreement.streams[0].formats[choice.format].parameters, history)])
        let peer = add(
            number,
            agreement,
            codecs,
            choice,
            streams,
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
    private func transport(isControlling: Bool, _ servers: [ICEServer] = []) -> PeerTransport? {
        var ice = configuration.ice
        ice.servers += servers
        return PeerTransport(
            in: loop,
            ice,
            isControlling: isControlling,
            identity: identity,
            addresses: network.addresses,
            now: now
        )
    }

    /// - Parameter isSending: whether anything goes out but reports.
    private func bundle(
        of parameters: OutgoingStream.Parameters,
        _ rendition: Rendition,
        isSending: Bool = true,
        for audience: Audience = .one
    ) -> StreamBundle {
        StreamBundle(
            [(parameters, isSending ? history(of: rendition) : makeHistory(of: rendition))],
            pace: pace(of: rendition),
            audience: audience,
            clock: clock,
            using: &random
        )
    }

    private func add(
        _ number: Int,
        _ agreement: Agreement,
        _ codecs: [VideoCodec],
        _ choice: Peer.Choice,
        _ streams: StreamBundle,
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
            codecs,
            choice,
            streams,
            incoming: receiver.flatMap { receiver in agreement.incoming(using: &random).map { ($0, receiver) } },
            over: transport,
            identity: identity,
            now: now,
            signalled: signalled
        )
        guard let peer else { return nil }
        let rendition = rendition(of: peer)
        // If others get this rendition, a peer that never finds a path shall not cost them a keyframe.
        if peer.isSending,
            !peers.contains(where: { $0.isSending && $0.isConnected && self.rendition(of: $0) == rendition })
        {
            requestedKeyframes.append(rendition.id)
        }
        peers.append(peer)
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
        guard let horizon = configuration.horizon() else { return }
        var hasForgotten = false
        for history in histories.values where history.forget(takenBefore: horizon) { hasForgotten = true }
        guard hasForgotten else { return }
        for peer in peers { peer.forgetHeld() }
        requestedKeyframes += renditionsInUse
    }

    /// The renditions that peers get, and those that they wait for.
    private var renditionsInUse: Set<Rendition.ID> {
        Set(peers.filter(\.isSending).flatMap { [rendition(of: $0).id, wantedRendition(of: $0).id] })
    }

    private func rendition(of peer: Peer) -> Rendition {
        configuration.rendition(of: peer.codec(of: peer.choice), rung: peer.choice.rung)
    }

    private func wantedRendition(of peer: Peer) -> Rendition {
        configuration.rendition(of: peer.codec(of: peer.wanted), rung: peer.wanted.rung)
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
                    rate: peer.link(at: now)?.estimate,
                    address: peer.address,
                    loss: peer.statistics.lossFraction ?? 0
                )
            },
            need: most / RenditionCapacity.share,
            at: now
        )
        if peers.contains(where: { $0.isSending && ladder.rung(of: $0.number) != $0.wanted.rung }) {
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
        for peer in peers { peer.setPace(pace(of: rendition(of: peer))) }
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
            if hasNewFrames || peer.mustPoll(at: now) {
                let needsKeyframe = peer.poll(at: now, in: &batch)
                if needsKeyframe { requestedKeyframes.append(rendition(of: peer).id) }
                if peer.takeConnection(at: now) { signals.append((peer, .connected(peer.status))) }
            }
            if peer.takeGathered(at: now) {
                if let local = peer.local {
                    signals.append((peer, peer.isProposing ? .proposed(local) : .gathered(local, peer.streams)))
                } else {
                    close(peer, .pathLost)
                }
            }
        }
        hasNewFrames = false
        for offer in offers { offer.tellIfGathered(at: now) }
    }

    private func change(_ peer: Peer) {
        let wanted = wantedRendition(of: peer)
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
            departed.add(peer.statistics)
            if let end = peer.end { signals.append((peer, .ended(end, peer.status))) }
        }
        hasChanged = true
    }

    /// What the links allow of each rendition that is sent.
    private var capacities: [Rendition.ID: RenditionCapacity] {
        var links: [Rendition.ID: [RenditionCapacity.Link]] = [:]
        for peer in peers {
            guard var link = peer.link(at: now) else { continue }
            link.isWaitedFor = ladder.isWaitedFor(peer.number, at: now)
            links[rendition(of: peer).id, default: []].append(link)
            if peer.wanted == peer.choice { continue }
            // What waits is dropped at the change.
            link.backlog = .zero
            links[wantedRendition(of: peer).id, default: []].append(link)
        }
        return Dictionary(
            uniqueKeysWithValues: renditionsInUse.map { id in
                let most = targetBitrate ?? configuration.rendition(id).bitrate
                let isMeasuring = peers.filter(\.isSending).allSatisfy { peer in
                    peer.measuresLink(at: now) || rendition(of: peer).id != id && wantedRendition(of: peer).id != id
                }
                return (id, RenditionCapacity(links[id] ?? [], isMeasuring: isMeasuring, most: most, at: now))
            }
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
        // An encode that begins must know what its first frame may take.
        if capacitiesAreDue || hasChanged { group.publish(capacities) }
        if hasChanged || !signals.isEmpty {
            var totals = departed
            for peer in peers { totals.add(peer.statistics) }
            group.publish(peers.map(\.status), totals, renditionsInUse)
        }
        if !requestedKeyframes.isEmpty { group.request(requestedKeyframes) }
        hasChanged = false
        requestedKeyframes.removeAll()
    }
}
