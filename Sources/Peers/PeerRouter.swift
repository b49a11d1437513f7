import Media
import RTP
import Time
import WebRTC

/// Decides which rendition each peer gets, and what the encoders must know of the peers' links. Sans-IO: the loop tells it what links
/// carry, and does what it decides.
struct PeerRouter {
    /// What a peer's link and its feedback say.
    struct LinkReport {
        /// Whether keys are in use.
        var isConnected = false
        /// What the link carries, in bits a second; nil while nothing tells.
        var estimate: Double?
        /// How long until the last of what waits for it has left.
        var backlog = Duration.zero
        /// The share of the pictures' packets that was lost lately, 0…1.
        var loss = 0.0
        /// The same of the sound's; nil while nothing tells.
        var soundLoss: Double?
        /// Whether the first packets are yet to show what the link carries.
        var isMeasuring = false
    }

    /// The picture that a peer gets.
    private struct Picture {
        let stream: AgreedStream
        var rendition: Rendition
        /// The rendition to which the peer changes at a keyframe.
        var wanted: Rendition
        /// When a keyframe was asked for with which it can change.
        var askedAt: Instant?
    }

    private struct Route {
        /// Nil for a peer that only shows its own picture, or hears.
        var picture: Picture?
        let hears: Bool
        let audience: Audience
        /// Peers at one address may share a link.
        let address: String
        var link = LinkReport()

        /// What is left of the link for pictures beside the sound, but at least half of it; nil if it was not measured.
        func pictureRate(besideSound soundRate: Double) -> Double? {
            guard picture != nil, let estimate = link.estimate else { return nil }
            return hears ? max(estimate - soundRate, estimate / 2) : estimate
        }
    }

    /// The links of all peers that get a rendition, or wait for it.
    private struct Load {
        var links: [RenditionCapacity.Link] = []
        var isMeasuring = true

        mutating func add(_ link: RenditionCapacity.Link?, isMeasuring: Bool) {
            if let link { links.append(link) }
            if !isMeasuring { self.isMeasuring = false }
        }
    }

    /// The time between two requests for a keyframe with which a peer can change.
    static let changeInterval = Duration.seconds(1)

    private let renditions: [Rendition]
    private var routes: [ParticipantID: Route] = [:]
    /// As the peers came, by which the ladder decides a tie.
    private var order: [ParticipantID] = []
    /// The peers that wait for a keyframe of another rendition.
    private(set) var changing: Set<ParticipantID> = []
    /// The codecs that suit the picture best, by rungs; VP8 where nothing was said.
    private var preferred: [Int: VideoCodec] = [:]
    private var ladder: RenditionLadder
    private var requestedKeyframes: [Rendition.ID] = []

    /// - Parameter renditions: the same number of rungs for each codec, at least one.
    init(_ renditions: [Rendition]) {
        self.renditions = renditions
        ladder = RenditionLadder(count: renditions.map(\.rung).max()! + 1)
    }

    // MARK: - Peers

    /// The rendition that a peer with this agreement gets first; nil for no picture.
    func firstRendition(for agreement: Agreement) -> Rendition? {
        agreement.video.flatMap { $0.isSent ? rendition(of: $0, on: 0) : nil }
    }

    /// A peer has come, and gets its first rendition.
    ///
    /// - Parameter address: where it was signalled from.
    mutating func add(_ id: ParticipantID, _ agreement: Agreement, at address: String, for audience: Audience) {
        var route = Route(hears: agreement.sound?.isSent ?? false, audience: audience, address: address)
        if let rendition = firstRendition(for: agreement), let stream = agreement.video {
            route.picture = Picture(stream: stream, rendition: rendition, wanted: rendition)
            // If others get this rendition, a peer that never finds a path shall not cost them a keyframe.
            if !routes.values.contains(where: { $0.link.isConnected && $0.picture?.rendition == rendition }) {
                requestedKeyframes.append(rendition.id)
            }
        }
        routes[id] = route
        order.append(id)
    }

    mutating func remove(_ id: ParticipantID) {
        routes[id] = nil
        changing.remove(id)
        order.removeAll { $0 == id }
    }

    mutating func note(_ link: LinkReport, of id: ParticipantID) { routes[id]?.link = link }

    // MARK: - Renditions

    /// The rendition that a peer gets; nil for no picture.
    func rendition(of id: ParticipantID) -> Rendition? { routes[id]?.picture?.rendition }

    /// The rendition that a peer gets or waits for; nil for no picture.
    func wanted(by id: ParticipantID) -> Rendition? { routes[id]?.picture?.wanted }

    /// Prefers the codecs that suit the picture best, by rungs.
    ///
    /// - Returns: whether a peer shall have another rendition.
    mutating func prefer(_ codecs: [Int: VideoCodec]) -> Bool {
        guard codecs != preferred else { return false }
        preferred = codecs
        return chooseRenditions()
    }

    /// Gives each peer the rung that its link carries.
    ///
    /// - Parameters:
    ///   - need: what nobody needs more than for pictures, in bits a second.
    ///   - soundRate: what the sound takes of a link.
    /// - Returns: whether a peer shall have another rendition.
    mutating func place(need: Double, soundRate: Double, at now: Instant) -> Bool {
        let links = order.compactMap { id in
            routes[id].map { route in
                RenditionLadder.Link(
                    peer: id,
                    rate: route.pictureRate(besideSound: soundRate),
                    address: route.address,
                    loss: route.link.loss
                )
            }
        }
        ladder.place(links, need: need, at: now)
        return chooseRenditions()
    }

    private mutating func chooseRenditions() -> Bool {
        var hasChanged = false
        for id in order {
            guard let picture = routes[id]?.picture,
                let wanted = rendition(of: picture.stream, on: ladder.rung(of: id)), wanted != picture.wanted
            else { continue }
            routes[id]?.picture?.wanted = wanted
            if wanted == picture.rendition { changing.remove(id) } else { changing.insert(id) }
            hasChanged = true
        }
        return hasChanged
    }

    /// Of the codec that is preferred on the rung if the stream takes that; nil for a stream of sound.
    private func rendition(of stream: AgreedStream, on rung: Int) -> Rendition? {
        stream.codec(preferring: preferred[rung] ?? .vp8).map { renditions.rendition(of: $0, rung: rung) }
    }

    /// Goes on with the rendition that a peer waits for, if there is a keyframe to begin with. If not, one is asked for now and then: where
    /// others receive that rendition already, none comes by itself.
    ///
    /// - Returns: whether the peer has changed.
    mutating func change(_ id: ParticipantID, canBegin: Bool, at now: Instant) -> Bool {
        guard let route = routes[id], let picture = route.picture else { return false }
        if canBegin {
            routes[id]?.picture?.rendition = picture.wanted
            changing.remove(id)
        } else if route.link.isConnected, picture.askedAt.map({ now >= $0 + Self.changeInterval }) ?? true {
            routes[id]?.picture?.askedAt = now
            requestedKeyframes.append(picture.wanted.id)
        }
        return canBegin
    }

    // MARK: - What encoders must know

    /// A peer needs a keyframe of the rendition that it gets.
    mutating func requestKeyframe(for id: ParticipantID) {
        if let rendition = rendition(of: id) { requestedKeyframes.append(rendition.id) }
    }

    /// A keyframe that was asked for may be gone.
    mutating func requestAllKeyframes() { requestedKeyframes += renditionsInUse }

    /// What was asked for since the last call.
    mutating func takeKeyframeRequests() -> [Rendition.ID] {
        defer { requestedKeyframes.removeAll() }
        return requestedKeyframes
    }

    /// The renditions that peers get, and those that they wait for.
    var renditionsInUse: Set<Rendition.ID> {
        var ids: Set<Rendition.ID> = []
        for case let picture? in routes.values.lazy.map(\.picture) {
            ids.insert(picture.rendition.id)
            ids.insert(picture.wanted.id)
        }
        return ids
    }

    /// The capacity of the links for each rendition that is in use.
    ///
    /// - Parameters:
    ///   - target: of rate control, in bits a second.
    ///   - soundRate: what the sound takes of a link, in bits a second.
    func capacities(target: Int, soundRate: Double, at now: Instant) -> [Rendition.ID: RenditionCapacity] {
        var loads: [Rendition.ID: Load] = [:]
        for (id, route) in routes {
            guard let picture = route.picture else { continue }
            var link = route.pictureRate(besideSound: soundRate).map { rate in
                let isWaitedFor = ladder.isWaitedFor(id, at: now)
                return RenditionCapacity.Link(estimate: rate, backlog: route.link.backlog, isWaitedFor: isWaitedFor)
            }
            loads[picture.rendition.id, default: Load()].add(link, isMeasuring: route.link.isMeasuring)
            if picture.wanted == picture.rendition { continue }
            // What waits is dropped at the change.
            link?.backlog = .zero
            loads[picture.wanted.id, default: Load()].add(link, isMeasuring: route.link.isMeasuring)
        }
        return loads.mapValues { RenditionCapacity($0.links, isMeasuring: $0.isMeasuring, most: target, at: now) }
    }

    /// What the peers want of the sound.
    var soundDemand: SoundDemand {
        let listeners = routes.values.filter { $0.hears && $0.link.isConnected }
        return SoundDemand(
            isWanted: !listeners.isEmpty,
            bitrate: SoundCapacity(listeners.compactMap(\.link.estimate)).bitrate,
            lossRatio: (100 * (listeners.compactMap(\.link.soundLoss).max() ?? 0)).rounded() / 100,
            isKeptAlive: listeners.contains { $0.audience == .forwarded }
        )
    }
}

extension [Rendition] {
    /// The rendition of a codec on a rung, of which there is one.
    func rendition(of codec: VideoCodec, rung: Int) -> Rendition { first { $0.codec == codec && $0.rung == rung }! }
}
