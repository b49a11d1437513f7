import Media
import RTP
import Time
import WebRTC

/// Decides which rendition each peer gets, and gives the encoders the capacity of the peers' links. Sans-IO: the loop reports the links, and
/// performs the decisions.
struct PeerRouter {
    /// The figures of a peer's link and its feedback.
    struct LinkReport {
        /// Whether keys are in use.
        var isConnected = false
        /// The link's capacity, in bits a second; nil while it is unknown.
        var estimate: Double?
        /// The time until the last waiting packet has left.
        var backlog = Duration.zero
        /// The lately lost share of the pictures' packets, 0…1.
        var loss = 0.0
        /// The same of the sound's; nil while it is unknown.
        var soundLoss: Double?
        /// Whether the first packets are yet to measure the link.
        var isMeasuring = false
    }

    /// The picture that a peer gets.
    private struct Picture {
        let stream: AgreedStream
        var rendition: Rendition
        /// The rendition to which the peer changes at a keyframe.
        var wanted: Rendition
        /// When the keyframe for the change was requested.
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

        /// The capacity for pictures beside the sound, at least half of the link's; nil if it was not measured.
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

    /// The time between two requests for the keyframe of a change.
    static let changeInterval = Duration.seconds(1)

    private let renditions: [Rendition]
    private var routes: [ParticipantID: Route] = [:]
    /// In the order of their coming, by which the ladder decides a tie.
    private var order: [ParticipantID] = []
    /// The peers that wait for a keyframe of another rendition.
    private(set) var changing: Set<ParticipantID> = []
    /// The best codec for the picture, by rung; VP8 is the default.
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

    /// Adds a peer with its first rendition.
    ///
    /// - Parameter address: the origin of its signalling.
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

    /// Sets the best codecs for the picture, by rung.
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
    ///   - need: the most that any peer needs for pictures, in bits a second.
    ///   - soundRate: of the sound, in bits a second.
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

    /// In the preferred codec of the rung if the stream has it; nil for a stream of sound.
    private func rendition(of stream: AgreedStream, on rung: Int) -> Rendition? {
        stream.codec(preferring: preferred[rung] ?? .vp8).map { renditions.rendition(of: $0, rung: rung) }
    }

    /// Changes to the rendition that a peer waits for, if there is a keyframe. If not, one is requested now and then: if others receive that
    /// rendition already, none comes by itself.
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

    // MARK: - Facts for encoders

    /// A peer needs a keyframe of its rendition.
    mutating func requestKeyframe(for id: ParticipantID) {
        if let rendition = rendition(of: id) { requestedKeyframes.append(rendition.id) }
    }

    /// Requested keyframes may be gone.
    mutating func requestAllKeyframes() { requestedKeyframes += renditionsInUse }

    /// The renditions with requests since the last call.
    mutating func takeKeyframeRequests() -> [Rendition.ID] { exchange(&requestedKeyframes, with: []) }

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
    ///   - soundRate: of the sound, in bits a second.
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
            // The waiting packets are dropped at the change.
            link?.backlog = .zero
            loads[picture.wanted.id, default: Load()].add(link, isMeasuring: route.link.isMeasuring)
        }
        return loads.mapValues { RenditionCapacity($0.links, isMeasuring: $0.isMeasuring, most: target, at: now) }
    }

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
