import Media
import RTP
import TestSupport
import Testing
import Time

@testable import WebRTC

/// Two sessions of this program that send to each other.
private final class Pair {
    final class Side {
        var session: PeerSession
        let history: PacketHistory

        init(_ agreement: Agreement, _ identity: DTLSIdentity, _ random: inout SplitMix) throws {
            history = PacketHistory(
                codec: .vp8,
                maximumPayloadSize: PeerSession.maximumPayloadSize,
                capacity: 256,
                using: &random
            )
            let streams = StreamBundle(
                [(agreement.streams[0].formats[0].parameters, history)],
                pace: .video(targetBitrate: 2_500_000),
                clock: ClockReading(monotonic: Pair.start, wall: 1_767_225_600_000_000_000),
                using: &random
            )
            session = try PeerSession(
                agreement.role,
                expecting: agreement.remote.fingerprints,
                streams: streams,
                incoming: agreement.incoming(using: &random),
                identity: identity,
                now: Pair.start
            )
        }

        func poll(at now: Instant) -> [[UInt8]] {
            var datagrams: [[UInt8]] = []
            session.poll(at: now) {
                datagrams.append(Array($0))
                return true
            }
            return datagrams
        }
    }

    static let start = Instant.seconds(5000)

    let offerer: Side
    let answerer: Side
    let offer: SessionDescription
    let answer: SessionDescription
    var now = start

    init(offererReceives: Bool, answererReceives: Bool) throws {
        var random = SplitMix(seed: 1)
        let credentials = ICECredentials(fragment: "abcd", password: "0123456789abcdefghijkl")!
        func transport(_ identity: DTLSIdentity) -> TransportParameters {
            TransportParameters(credentials: credentials, fingerprints: [identity.fingerprint], candidates: [])
        }
        let made = SessionOffer([LocalStream(track: "screen", codecs: [[.video(.vp8)]], receives: offererReceives)])
        let bundle = StreamBundle(
            [
                (
                    made.streams[0].formats[0].parameters,
                    PacketHistory(codec: .vp8, maximumPayloadSize: 1000, capacity: 2, using: &random)
                )
            ],
            pace: .video(targetBitrate: 2_500_000),
            clock: ClockReading(monotonic: Self.start, wall: 1),
            using: &random
        )
        offer = try SessionDescription(
            parsing: "\(made.description(local: transport(Identities.here), bundle: bundle, sessionID: 1))"
        )
        let negotiation = try Negotiation(offer: offer, codecs: [[.vp8]], receives: answererReceives)
        answerer = try Side(negotiation.agreement, Identities.there, &random)
        answer = try SessionDescription(
            parsing:
                "\(negotiation.answer(local: transport(Identities.there), bundle: answerer.session.streams, sessionID: 2))"
        )
        offerer = try Side(made.agreement(in: answer), Identities.here, &random)
    }

    /// Carries datagrams until the time has passed. Those for which `isLost` is true go nowhere.
    func run(_ time: Duration, isLost: (_ datagram: [UInt8], _ toAnswerer: Bool) -> Bool = { _, _ in false }) {
        let end = now + time
        while now < end {
            now += .milliseconds(1)
            for (from, to, toAnswerer) in [(offerer, answerer, true), (answerer, offerer, false)] {
                for datagram in from.poll(at: now) where !isLost(datagram, toAnswerer) {
                    datagram.withUnsafeBytes { to.session.receive($0, now: now) }
                }
            }
        }
    }

    static func frame(_ size: Int, isKeyframe: Bool) -> [UInt8] {
        [isKeyframe ? 0 : 1] + (1..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ size) }
    }

    func append(_ frame: [UInt8], to side: Side) {
        side.history.append(
            frame: frame,
            isKeyframe: frame[0] & 1 == 0,
            dimensions: (1280, 720),
            capturedAt: now,
            now: now
        )
    }
}

@Suite struct ReceivingSessionTests {
    @Test(
        arguments: [
            (true, true, "sendrecv", "sendrecv"), (true, false, "sendrecv", "sendonly"),
            (false, true, "sendonly", "recvonly"), (false, false, "sendonly", nil),
        ] as [(Bool, Bool, String, String?)]
    )
    func directions(offerer: Bool, answerer: Bool, offered: String, answered: String?) throws {
        guard let answered else {
            // Who does not receive offers a description of which the other one has no use.
            #expect(throws: UnacceptableOffer.noVideo) {
                try Pair(offererReceives: offerer, answererReceives: answerer)
            }
            return
        }
        let pair = try Pair(offererReceives: offerer, answererReceives: answerer)
        #expect(pair.offer.media[0].attributes.map(\.name).contains(offered))
        #expect(pair.answer.media[0].attributes.map(\.name).contains(answered))
    }

    @Test func bothSeeEachOther() throws {
        let pair = try Pair(offererReceives: true, answererReceives: true)
        for side in [pair.offerer, pair.answerer] { side.session.pathFound() }
        pair.run(.milliseconds(10))
        let frames = [Pair.frame(9000, isKeyframe: true), Pair.frame(700, isKeyframe: false)]
        for (from, to) in [(pair.offerer, pair.answerer), (pair.answerer, pair.offerer)] {
            for frame in frames { pair.append(frame, to: from) }
            pair.run(.milliseconds(200))
            let received = to.session.takeFrames()
            #expect(received.map(\.bytes) == frames)
            #expect(received.map(\.isKeyframe) == [true, false])
            expect(from.session.takeFrames().isEmpty)
        }
        // Reports and feedback have come: both know the round trip and how far packets arrive.
        pair.run(.seconds(4))
        for side in [pair.offerer, pair.answerer] {
            #expect(side.session.streams.roundTripTime != nil)
            #expect(side.session.streams.streams[0].statistics.lossFraction == 0)
            #expect(side.session.streams.estimator?.lastArrived != nil)
            #expect(side.session.end == nil)
        }
    }

    /// A packet that is lost is asked for and comes again; and when a decoder fails, a keyframe is asked for.
    @Test func whatIsMissingIsAskedFor() throws {
        let pair = try Pair(offererReceives: true, answererReceives: true)
        for side in [pair.offerer, pair.answerer] { side.session.pathFound() }
        pair.run(.milliseconds(10))
        pair.append(Pair.frame(9000, isKeyframe: true), to: pair.offerer)
        var count = 0
        pair.run(.milliseconds(500)) { datagram, toAnswerer in
            let isMedia = toAnswerer && datagram[0] >= 128 && !(192...223 ~= datagram[1])
            count += isMedia ? 1 : 0
            return isMedia && count == 3
        }
        #expect(pair.offerer.session.streams.streams[0].statistics.nacks > 0)
        expect(pair.answerer.session.takeFrames().map(\.bytes) == [Pair.frame(9000, isKeyframe: true)])
        let asked = pair.offerer.session.takeKeyframeRequest(of: "0", at: pair.now)
        pair.run(.seconds(2))
        pair.answerer.session.requestKeyframes()
        // It is asked for with the next packet at the latest.
        pair.append(Pair.frame(500, isKeyframe: false), to: pair.offerer)
        pair.run(.seconds(1))
        expect(pair.answerer.session.takeFrames().isEmpty)
        #expect(pair.offerer.session.streams.streams[0].statistics.keyframeRequests > 0)
        _ = asked
        pair.append(Pair.frame(5000, isKeyframe: true), to: pair.offerer)
        pair.run(.milliseconds(300))
        expect(pair.answerer.session.takeFrames().map(\.isKeyframe) == [true])
    }

    /// Who has asked for nothing takes nothing.
    @Test func withoutAReceiverNothingIsTaken() throws {
        let pair = try Pair(offererReceives: true, answererReceives: false)
        for side in [pair.offerer, pair.answerer] { side.session.pathFound() }
        pair.run(.milliseconds(10))
        pair.append(Pair.frame(5000, isKeyframe: true), to: pair.offerer)
        pair.run(.milliseconds(300))
        expect(pair.answerer.session.takeFrames().isEmpty)
    }

    /// Who ends what it sends may go on to watch. Where nothing is received, a goodbye is the peer's own.
    @Test(arguments: [true, false])
    func aGoodbyeOfMediaEndsNoSession(receives: Bool) throws {
        let pair = try Pair(offererReceives: true, answererReceives: receives)
        for side in [pair.offerer, pair.answerer] { side.session.pathFound() }
        pair.run(.milliseconds(10))
        pair.append(Pair.frame(5000, isKeyframe: true), to: pair.offerer)
        pair.run(.milliseconds(300))
        expect(pair.answerer.session.takeFrames().count == (receives ? 1 : 0))
        var datagrams: [[UInt8]] = []
        pair.offerer.session.close(at: pair.now, .closed) {
            datagrams.append(Array($0))
            return true
        }
        func deliver(_ isWanted: ([UInt8]) -> Bool) {
            for datagram in datagrams where isWanted(datagram) {
                datagram.withUnsafeBytes { pair.answerer.session.receive($0, now: pair.now) }
            }
        }
        deliver { $0[0] >= 128 }
        let end: PeerSession.End? = receives ? nil : .closedByPeer
        #expect(pair.answerer.session.end == end)
        // The end of DTLS is the peer's in any case.
        deliver { $0[0] < 128 }
        #expect(pair.answerer.session.end == .closedByPeer)
    }

    /// An offerer speaks, by what the answer says, and its picture goes the same way.
    @Test func soundComesAsItWasSent() throws {
        var random = SplitMix(seed: 5)
        let offer = SessionOffer([
            LocalStream(track: "screen", codecs: [[.video(.vp8)]], receives: true),
            LocalStream(track: "sound", codecs: [[.opus]], receives: true),
        ])
        let sound = PacketHistory(soundOf: 1000, capacity: 50)
        let video = PacketHistory(codec: .vp8, maximumPayloadSize: 1000, capacity: 50, using: &random)
        func bundle(_ streams: [AgreedStream]) -> StreamBundle {
            StreamBundle(
                streams.map { ($0.formats[0].parameters, $0.track == "sound" ? sound : video) },
                pace: .video(targetBitrate: 2_500_000),
                clock: ClockReading(monotonic: Pair.start, wall: 1),
                using: &random
            )
        }
        func transport(_ identity: DTLSIdentity) -> TransportParameters {
            let credentials = ICECredentials(fragment: "abcd", password: "0123456789abcdefghijkl")!
            return TransportParameters(credentials: credentials, fingerprints: [identity.fingerprint], candidates: [])
        }
        var streams = bundle(offer.streams)
        let description = offer.description(local: transport(Identities.here), bundle: streams, sessionID: 1)
        let negotiation = try Negotiation(
            offer: SessionDescription(parsing: "\(description)"),
            streams: [
                LocalStream(track: "screen", codecs: [[.video(.vp8)]]),
                LocalStream(track: "sound", codecs: [[.opus]], receives: true),
            ]
        )
        let answering = bundle(negotiation.agreement.streams)
        let answer = negotiation.answer(local: transport(Identities.there), bundle: answering, sessionID: 2)
        let agreement = try offer.agreement(in: SessionDescription(parsing: "\(answer)"))
        #expect(agreement.streams.map(\.isReceived) == [true, true])
        #expect(negotiation.agreement.streams.map(\.isReceived) == [false, true])
        streams.keep(agreement.streams.map { ($0.formats[0].parameters, $0.track == "sound" ? sound : video) })
        var talker = try PeerSession(
            agreement.role,
            expecting: agreement.remote.fingerprints,
            streams: streams,
            incoming: agreement.incoming(using: &random),
            identity: Identities.here,
            now: Pair.start
        )
        var listener = try PeerSession(
            negotiation.agreement.role,
            expecting: negotiation.agreement.remote.fingerprints,
            streams: answering,
            incoming: negotiation.agreement.incoming(using: &random),
            identity: Identities.there,
            now: Pair.start
        )
        talker.pathFound()
        listener.pathFound()
        var received: [ReceivedSound] = []
        for step in 0..<500 {
            let now = Pair.start + .milliseconds(Double(step + 1))
            if step >= 100, step % 20 == 0 {
                sound.append(sound: [0x78, UInt8(step / 20)], capturedAt: now, now: now)
            }
            if step == 100 {
                video.append(
                    frame: Pair.frame(500, isKeyframe: true),
                    isKeyframe: true,
                    dimensions: (8, 8),
                    capturedAt: now,
                    now: now
                )
            }
            talker.poll(at: now) { datagram in
                Array(datagram).withUnsafeBytes { listener.receive($0, now: now) }
                return true
            }
            listener.poll(at: now) { datagram in
                Array(datagram).withUnsafeBytes { talker.receive($0, now: now) }
                return true
            }
            received += listener.takeSound()
        }
        #expect(received.map(\.bytes) == (5..<25).map { [0x78, $0] })
        let steps = zip(received, received.dropFirst()).map { $1.timestamp &- $0.timestamp }
        #expect(steps.allSatisfy { $0 == 960 })
        expect(listener.takeFrames().isEmpty)
        #expect(listener.end == nil)
    }

    /// Packets that are forged, or of too many sources, do no harm.
    @Test func forgedPacketsAreIgnored() throws {
        let pair = try Pair(offererReceives: true, answererReceives: true)
        for side in [pair.offerer, pair.answerer] { side.session.pathFound() }
        pair.run(.milliseconds(10))
        var random = SplitMix(seed: 3)
        for _ in 0..<500 {
            var datagram = (0..<Int.random(in: 2...200, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            datagram[0] = 0x80 | datagram[0] & 0x3F
            datagram.withUnsafeBytes { pair.answerer.session.receive($0, now: pair.now) }
        }
        pair.append(Pair.frame(5000, isKeyframe: true), to: pair.offerer)
        pair.run(.milliseconds(300))
        expect(pair.answerer.session.takeFrames().count == 1)
    }
}

/// `#expect` for calls that change a value, which the macro cannot take.
private func expect(_ condition: Bool, location: SourceLocation = #_sourceLocation) {
    #expect(condition, sourceLocation: location)
}
