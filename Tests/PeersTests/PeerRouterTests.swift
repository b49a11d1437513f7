import Media
import RTP
import TestSupport
import Testing
import Time
import WebRTC

@testable import Peers

/// In virtual time, without sessions.
@Suite struct PeerRouterTests {
    private static let renditions = [VideoCodec.vp8, .av1].enumerated().flatMap { index, codec in
        (0..<2).map { rung in
            Rendition(
                id: Rendition.ID(10 * index + rung),
                codec: codec,
                rung: rung,
                width: 64,
                height: 64,
                framesPerSecond: 30,
                bitrate: target
            )
        }
    }
    private static let target = 2_500_000
    private static let (vp8, lowVP8, av1) = (renditions[0], renditions[1], renditions[2])
    private let now = Instant.seconds(7)
    private var router = PeerRouter(Self.renditions)

    private static func agreement(_ codecs: [VideoCodec], hears: Bool = false) throws -> Agreement {
        let mids = (codecs.isEmpty ? "" : " 0") + (hears ? " 1" : "")
        var offer = """
            v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE\(mids)\r\n\
            a=ice-ufrag:abcd\r\na=ice-pwd:0123456789abcdefghijkl\r\na=setup:actpass\r\n\
            a=fingerprint:sha-256 \((0..<32).map { _ in "AB" }.joined(separator: ":"))\r\n
            """
        if !codecs.isEmpty {
            let types = codecs.indices.map { 96 + $0 }
            offer += "m=video 9 UDP/TLS/RTP/SAVPF \(types.map { "\($0)" }.joined(separator: " "))\r\n"
            offer += "c=IN IP4 0.0.0.0\r\na=mid:0\r\na=recvonly\r\na=rtcp-mux\r\n"
            for (type, codec) in zip(types, codecs) { offer += "a=rtpmap:\(type) \(codec.rawValue)/90000\r\n" }
        }
        if hears {
            offer += "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:1\r\na=recvonly\r\na=rtcp-mux\r\n"
            offer += "a=rtpmap:111 opus/48000/2\r\n"
        }
        return try Negotiation(
            offer: SessionDescription(parsing: offer),
            codecs: [[.vp8], [.av1]],
            sound: .sound()
        ).agreement
    }

    private static func link(_ estimate: Double?, backlog: Duration = .zero) -> PeerRouter.LinkReport {
        PeerRouter.LinkReport(isConnected: true, estimate: estimate, backlog: backlog)
    }

    private mutating func add(_ id: ParticipantID, _ codecs: [VideoCodec], hears: Bool = false) throws {
        router.add(id, try Self.agreement(codecs, hears: hears), at: "192.0.2.\(id)", for: .one)
    }

    private func capacities(soundRate: Double = 0) -> [Rendition.ID: RenditionCapacity] {
        router.capacities(target: Self.target, soundRate: soundRate, at: now)
    }

    private static func capacity(_ estimates: [Double]) -> RenditionCapacity {
        let links = estimates.map { RenditionCapacity.Link(estimate: $0, backlog: .zero) }
        return RenditionCapacity(links, most: target, at: .start)
    }

    // MARK: - Changes

    @Test mutating func aPeerChangesOnlyWhereAKeyframeCanBegin() throws {
        try add(1, [.vp8, .av1])
        #expect(router.rendition(of: 1) == Self.vp8)
        let hasNews = router.prefer([0: .av1])
        #expect(hasNews && router.wanted(by: 1) == Self.av1 && router.changing == [1])
        var hasChanged = router.change(1, canBegin: false, at: now)
        #expect(!hasChanged && router.rendition(of: 1) == Self.vp8)
        #expect(router.renditionsInUse == [Self.vp8.id, Self.av1.id])
        hasChanged = router.change(1, canBegin: true, at: now)
        #expect(hasChanged && router.rendition(of: 1) == Self.av1 && router.changing.isEmpty)
        #expect(router.renditionsInUse == [Self.av1.id])
    }

    /// A peer that never finds a path costs nobody a keyframe.
    @Test mutating func aKeyframeForAChangeIsAskedForOnceASecond() throws {
        try add(1, [.vp8, .av1])
        _ = router.prefer([0: .av1])
        _ = router.takeKeyframeRequests()
        var asked: [Instant] = []
        for step in 0..<200 {
            let now = now + .milliseconds(20 * step)
            if step == 50 { router.note(Self.link(nil), of: 1) }
            _ = router.change(1, canBegin: false, at: now)
            let requests = router.takeKeyframeRequests()
            #expect(requests.allSatisfy { $0 == Self.av1.id })
            asked += requests.map { _ in now }
        }
        #expect(asked == (1...3).map { now + .seconds($0) })
    }

    @Test mutating func aPreferredCodecMovesThoseThatTakeIt() throws {
        try add(1, [.vp8])
        try add(2, [.vp8, .av1])
        try add(3, [.av1])
        try add(4, [], hears: true)
        var hasNews = router.prefer([0: .av1])
        #expect(hasNews && router.changing == [2])
        hasNews = router.prefer([0: .av1])
        #expect(!hasNews)
        // One that comes now gets it at once.
        try add(5, [.vp8, .av1])
        #expect(router.rendition(of: 5) == Self.av1)
        hasNews = router.prefer([:])
        #expect(hasNews && router.changing == [5])
        #expect([1, 2, 3, 4].map { router.wanted(by: $0) } == [Self.vp8, Self.vp8, Self.av1, nil])
    }

    @Test mutating func aBadLinkGetsAnotherRung() throws {
        for id in [1, 2] as [ParticipantID] { try add(id, [.vp8]) }
        router.note(Self.link(3e6), of: 1)
        router.note(Self.link(0.5e6), of: 2)
        var moved: [Instant] = []
        for step in 0..<10 {
            let now = now + .milliseconds(100 * step)
            if router.place(need: 3e6, soundRate: 0, at: now) { moved.append(now) }
        }
        #expect(moved == [now + .milliseconds(500)])
        #expect(router.changing == [2] && router.wanted(by: 2) == Self.lowVP8)
    }

    // MARK: - Keyframes

    @Test mutating func aNewcomerHasAKeyframeMadeUnlessOthersGetTheRendition() throws {
        try add(1, [.vp8])
        #expect(router.takeKeyframeRequests() == [Self.vp8.id])
        try add(2, [.vp8])
        #expect(router.takeKeyframeRequests() == [Self.vp8.id], "nobody has a path yet")
        router.note(Self.link(nil), of: 1)
        try add(3, [.vp8])
        #expect(router.takeKeyframeRequests() == [])
        try add(4, [.av1])
        #expect(router.takeKeyframeRequests() == [Self.av1.id])
        router.requestKeyframe(for: 3)
        #expect(router.takeKeyframeRequests() == [Self.vp8.id])
        router.requestAllKeyframes()
        #expect(Set(router.takeKeyframeRequests()) == [Self.vp8.id, Self.av1.id])
    }

    // MARK: - Links

    @Test mutating func aPeerThatMeasuresDoesNotBound() throws {
        try add(1, [.vp8])
        let measuring = PeerRouter.LinkReport(isConnected: true, isMeasuring: true)
        router.note(measuring, of: 1)
        #expect(capacities()[Self.vp8.id]?.measuresLink == true)
        #expect(capacities()[Self.vp8.id]?.limit == nil)
        try add(2, [.vp8])
        #expect(capacities()[Self.vp8.id]?.measuresLink == false, "nothing will tell what its link carries")
        router.note(Self.link(1e6), of: 2)
        #expect(capacities()[Self.vp8.id] == Self.capacity([1e6]))
    }

    /// What waits for it is dropped at the change.
    @Test mutating func aPeerThatWaitsCountsInBothRenditions() throws {
        try add(1, [.vp8, .av1])
        router.note(Self.link(1e6, backlog: .milliseconds(300)), of: 1)
        _ = router.prefer([0: .av1])
        #expect(capacities()[Self.av1.id] == Self.capacity([1e6]))
        #expect(capacities()[Self.vp8.id]?.isFullUntil == now + .milliseconds(200))
        #expect(capacities()[Self.vp8.id]?.limit == capacities()[Self.av1.id]?.limit)
    }

    @Test(arguments: [0.0, 100_000, 400_000, 3e6])
    mutating func soundTakesAtMostHalfOfALink(soundRate: Double) throws {
        try add(1, [.vp8], hears: true)
        try add(2, [.av1])
        for id in [1, 2] as [ParticipantID] { router.note(Self.link(800_000), of: id) }
        let capacities = capacities(soundRate: soundRate)
        #expect(capacities[Self.vp8.id] == Self.capacity([max(800_000 - soundRate, 400_000)]))
        #expect(capacities[Self.av1.id] == Self.capacity([800_000]))
    }

    @Test mutating func soundIsWantedByThoseThatHearIt() throws {
        try add(1, [.vp8], hears: true)
        #expect(router.soundDemand == .none)
        router.note(PeerRouter.LinkReport(isConnected: true, estimate: 1e6, soundLoss: 0.123), of: 1)
        let demand = router.soundDemand
        #expect(demand.isWanted && demand.lossRatio == 0.12 && !demand.isKeptAlive)
        #expect(demand.bitrate == SoundCapacity([1e6]).bitrate)
        router.add(2, try Self.agreement([.vp8], hears: true), at: "a media server", for: .forwarded)
        router.note(Self.link(nil), of: 2)
        #expect(router.soundDemand.isKeptAlive)
        router.remove(1)
        router.remove(2)
        #expect(router.soundDemand == .none)
    }

    // MARK: - Anything

    /// The same by a list of peers that is looked through each time.
    private struct Model {
        struct Peer {
            let id: ParticipantID
            let agreement: Agreement
            let address: String
            var rendition: Rendition?
            var wanted: Rendition?
            var link = PeerRouter.LinkReport()

            func rate(_ soundRate: Double) -> Double? {
                guard rendition != nil, let rate = link.estimate else { return nil }
                return agreement.sound == nil ? rate : max(rate - soundRate, rate / 2)
            }
        }

        var peers: [Peer] = []
        var ladder = RenditionLadder(count: 2)
        var preferred: [Int: VideoCodec] = [:]

        func rendition(for agreement: Agreement, on rung: Int) -> Rendition? {
            let codec = agreement.video?.codec(preferring: preferred[rung] ?? .vp8)
            return PeerRouterTests.renditions.first { $0.codec == codec && $0.rung == rung }
        }

        mutating func choose() {
            for index in peers.indices {
                let rung = ladder.rung(of: peers[index].id)
                peers[index].wanted = rendition(for: peers[index].agreement, on: rung)
            }
        }

        func peers(of id: Rendition.ID) -> [Peer] { peers.filter { $0.rendition?.id == id || $0.wanted?.id == id } }

        func capacity(of id: Rendition.ID, _ soundRate: Double, at now: Instant) -> RenditionCapacity {
            let all = peers(of: id)
            let links = all.compactMap { peer in
                peer.rate(soundRate).map { rate in
                    RenditionCapacity.Link(
                        estimate: rate,
                        backlog: peer.rendition?.id == id ? peer.link.backlog : .zero,
                        isWaitedFor: ladder.isWaitedFor(peer.id, at: now)
                    )
                }
            }
            return RenditionCapacity(
                links,
                isMeasuring: all.allSatisfy(\.link.isMeasuring),
                most: PeerRouterTests.target,
                at: now
            )
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    mutating func anything(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let agreements = try [
            Self.agreement([.vp8]), Self.agreement([.vp8, .av1]), Self.agreement([.av1], hears: true),
            Self.agreement([.vp8, .av1], hears: true), Self.agreement([], hears: true),
        ]
        let codecs: [VideoCodec?] = [.vp8, .av1, nil]
        var (model, now, last) = (Model(), now, 0)
        for _ in 0..<400 {
            now += .milliseconds(.random(in: 0...300, using: &random))
            let soundRate = Double.random(in: 0...100_000, using: &random)
            let index = model.peers.indices.randomElement(using: &random)
            switch (Int.random(in: 0..<12, using: &random), index) {
            case (0, _), (_, nil):
                last += 1
                let agreement = agreements.randomElement(using: &random)!
                var peer = Model.Peer(id: ParticipantID(last), agreement: agreement, address: "\(last % 3)")
                (peer.rendition, peer.wanted) = (model.rendition(for: agreement, on: 0), nil)
                peer.wanted = peer.rendition
                model.peers.append(peer)
                router.add(peer.id, agreement, at: peer.address, for: .one)
            case (1, let index?) where model.peers.count > 5:
                router.remove(model.peers.remove(at: index).id)
            case (2...3, _):
                for rung in 0..<2 { model.preferred[rung] = codecs.randomElement(using: &random)! }
                let before = model.peers.map(\.wanted)
                model.choose()
                let isNews = router.prefer(model.preferred)
                #expect(isNews == (before != model.peers.map(\.wanted)))
            case (4...5, _):
                let links = model.peers.map { peer in
                    RenditionLadder.Link(
                        peer: peer.id,
                        rate: peer.rate(soundRate),
                        address: peer.address,
                        loss: peer.link.loss
                    )
                }
                model.ladder.place(links, need: 3e6, at: now)
                let before = model.peers.map(\.wanted)
                model.choose()
                let isNews = router.place(need: 3e6, soundRate: soundRate, at: now)
                #expect(isNews == (before != model.peers.map(\.wanted)))
            case (6...8, let index?):
                let peer = model.peers[index]
                guard peer.rendition != peer.wanted else { break }
                let canBegin = Bool.random(using: &random)
                if canBegin { model.peers[index].rendition = peer.wanted }
                let hasChanged = router.change(peer.id, canBegin: canBegin, at: now)
                #expect(hasChanged == canBegin)
            case (_, let index?):
                let isConnected = Bool.random(using: &random)
                let link = PeerRouter.LinkReport(
                    isConnected: isConnected,
                    estimate: isConnected ? Double.random(in: 1e5...4e6, using: &random) : nil,
                    backlog: .milliseconds(.random(in: 0...400, using: &random)),
                    loss: .random(in: 0...0.1, using: &random),
                    isMeasuring: .random(using: &random)
                )
                model.peers[index].link = link
                router.note(link, of: model.peers[index].id)
            }
            let inUse = Set(model.peers.flatMap { [$0.rendition?.id, $0.wanted?.id].compactMap(\.self) })
            #expect(router.renditionsInUse == inUse)
            #expect(router.changing == Set(model.peers.filter { $0.rendition != $0.wanted }.map(\.id)))
            let expected = inUse.map { ($0, model.capacity(of: $0, soundRate, at: now)) }
            let capacities = router.capacities(target: Self.target, soundRate: soundRate, at: now)
            #expect(capacities == Dictionary(uniqueKeysWithValues: expected))
        }
    }
}
