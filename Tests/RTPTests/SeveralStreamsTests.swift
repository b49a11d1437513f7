import Media
import TestSupport
import Testing
import Time

@testable import RTP

/// Two streams of video and one of sound to one peer.
@Suite struct SeveralStreamsTests {
    private static let start = Instant.seconds(5000)
    private static let clock = ClockReading(monotonic: start, wall: 1_767_225_600_000_000_000)

    private final class Peer {
        let screen: PacketHistory
        let camera: PacketHistory
        let sound = PacketHistory(soundOf: 200, capacity: 50)
        var bundle: StreamBundle
        var now = start

        /// A packet of 1000 bytes takes 8 ms.
        init(rate: UInt64 = 1_000_000, burst: Int = 1200, opensSpeakers: Bool = false) {
            var random = SplitMix64(seed: 8)
            screen = PacketHistory(codec: .vp8, maximumPayloadSize: 1000, capacity: 200, using: &random)
            camera = PacketHistory(codec: .vp8, maximumPayloadSize: 1000, capacity: 200, using: &random)
            bundle = StreamBundle(
                [
                    (.init(payloadType: 96, retransmissionPayloadType: 97, mid: "screen"), screen),
                    (.init(payloadType: 96, retransmissionPayloadType: 97, mid: "camera"), camera),
                    (.init(payloadType: 111, retransmissionPayloadType: nil, mid: "sound"), sound),
                ],
                pace: .init(rate: rate, burst: burst),
                opensSpeakers: opensSpeakers,
                clock: clock,
                using: &random
            )
        }

        func show(_ packets: Int, in history: PacketHistory) { history.append(packets, isKeyframe: true, at: now) }

        /// A packet of 20 ms.
        func hear() { sound.append(sound: [UInt8](repeating: 2, count: 80), capturedAt: now, now: now) }

        func mid(_ packet: RTPPacket) -> String? {
            bundle.streams.first { $0.sources.contains(packet.header.ssrc) }?.mid
        }

        /// What leaves now.
        func drain() throws -> [RTPPacket] {
            var packets: [RTPPacket] = []
            var bytes: [UInt8] = []
            while bundle.writeNext(at: now, to: &bytes) {
                packets.append(try RTPPacket(parsing: bytes))
                bytes.removeAll()
            }
            return packets
        }

        /// What leaves for a while, each as soon as it may, with the instant.
        func play(for milliseconds: Int) throws -> [(packet: RTPPacket, at: Instant)] {
            let end = now + .milliseconds(milliseconds)
            var played: [(packet: RTPPacket, at: Instant)] = []
            while true {
                played += try drain().map { ($0, now) }
                // Reports go out of the way.
                var report: [UInt8] = []
                _ = bundle.writeReport(at: now, to: &report)
                guard let next = bundle.nextDeadline, next < end else {
                    now = end
                    return played
                }
                now = max(next, now + .nanoseconds(1))
            }
        }

        func report(_ mids: String..., highest: UInt32) {
            let blocks = mids.map { mid in
                ReportBlock(
                    ssrc: bundle[mid]!.ssrc,
                    fractionLost: 0,
                    cumulativeLost: 0,
                    highestSequenceNumber: highest,
                    jitter: 0,
                    lastSenderReport: 0,
                    delaySinceLastSenderReport: 0
                )
            }
            bundle.receive(.receiverReport(ReceiverReport(ssrc: 1, reports: blocks)), now: now)
        }
    }

    @Test func soundWaitsBehindNoKeyframe() throws {
        let peer = Peer()
        peer.show(60, in: peer.screen)
        peer.show(60, in: peer.camera)
        // Far into both keyframes, and while some of them is sent again.
        _ = try peer.play(for: 100)
        let sent = peer.bundle["screen"]!.statistics.packets
        #expect(sent > 3)
        let ssrc = peer.bundle["screen"]!.ssrc
        var lost: [UInt16] = []
        let probe = try peer.play(for: 40).filter { $0.packet.header.ssrc == ssrc }
        for (packet, _) in probe { lost += (0..<4 as Range<UInt16>).map { packet.header.sequenceNumber &- $0 } }
        peer.bundle.receive(.genericNACK(GenericNACK(sender: 1, media: ssrc, lost: lost)), now: peer.now)
        var waits: [Duration] = []
        for _ in 0..<10 {
            let heard = peer.now
            peer.hear()
            waits += try peer.play(for: 20).filter { peer.mid($0.packet) == "sound" }.map { $0.at - heard }
        }
        #expect(waits == Array(repeating: .zero, count: 10), "each packet leaves at once")
        #expect(peer.bundle["screen"]!.statistics.retransmissions > 2)
        // Pictures make up for it: 340 ms of 125 bytes each, a burst, and what each packet of sound takes.
        let bytes = peer.bundle.streams.reduce(0) { $0 + $1.statistics.bytes }
        #expect(bytes <= 340 * 125 + 1200)
    }

    @Test func streamsOfVideoShareThePaceEvenly() throws {
        let peer = Peer()
        peer.show(60, in: peer.screen)
        _ = try peer.play(for: 50)
        let ahead = peer.bundle["screen"]!.statistics.packets
        peer.show(60, in: peer.camera)
        let played = try peer.play(for: 300).map { peer.mid($0.packet) }
        #expect(ahead > 2 && played.count > 30)
        #expect(abs(played.count { $0 == "screen" } - played.count { $0 == "camera" }) <= 1)
        // Together they keep to the pace: 350 ms of 125 bytes each, and a burst.
        let bytes = peer.bundle.streams.reduce(0) { $0 + $1.statistics.bytes }
        #expect(40_000...46_000 ~= bytes)
    }

    @Test func eachStreamHasItsOwnClockAndNumbers() throws {
        let peer = Peer(rate: 100_000_000, burst: 100_000)
        var packets: [RTPPacket] = []
        for _ in 0..<50 {
            peer.hear()
            peer.show(1, in: peer.screen)
            packets += try peer.drain()
            peer.now += .milliseconds(20)
        }
        for (mid, step, marked) in [("sound", 960, 1), ("screen", 1800, 50)] as [(String, UInt32, Int)] {
            let headers = packets.filter { peer.mid($0) == mid }.map(\.header)
            #expect(headers.count == 50, "\(mid)")
            let pairs = zip(headers, headers.dropFirst())
            #expect(pairs.allSatisfy { $1.timestamp &- $0.timestamp == step }, "\(mid)")
            #expect(pairs.allSatisfy { $1.sequenceNumber &- $0.sequenceNumber == 1 }, "\(mid)")
            // Each picture has its end, and sound its beginning.
            #expect(headers.prefix(marked).allSatisfy { $0.marker }, "\(mid)")
            #expect(headers.count { $0.marker } == marked, "\(mid)")
        }
        #expect(Set(peer.bundle.streams.flatMap(\.sources)).count == 5)
    }

    @Test func oneReportTellsOfAllThatHaveSent() throws {
        let peer = Peer(rate: 100_000_000, burst: 100_000)
        var names: [CanonicalName] = []
        func report() throws -> [RTCPPacket]? {
            var bytes: [UInt8] = []
            guard peer.bundle.writeReport(at: peer.now, to: &bytes) else { return nil }
            names = CanonicalName.all(in: bytes)
            return try RTCPPacket.parse(bytes)
        }
        #expect(try report() == nil)
        peer.show(2, in: peer.camera)
        peer.hear()
        let packets = try peer.drain()
        let told = try #require(try report())
        #expect(try report() == nil, "one schedule for all")
        let reports = told.compactMap { if case .senderReport(let report) = $0 { report } else { nil } }
        let (camera, sound) = (peer.bundle["camera"]!, peer.bundle["sound"]!)
        #expect(reports.map(\.ssrc) == [camera.ssrc, sound.ssrc])
        #expect(Set(reports.map(\.ntpTime.rawValue)).count == 1)
        // Captured now, so that the timestamps are those of the packets.
        for report in reports {
            #expect(packets.last { $0.header.ssrc == report.ssrc }?.header.timestamp == report.rtpTimestamp)
        }
        #expect(reports.map(\.packetCount) == [2, 1])
        let name = peer.bundle.canonicalName
        #expect(names == [camera.ssrc, sound.ssrc].map { CanonicalName(ssrc: $0, name: name) })
        // The rates hold between two reports.
        peer.now += .milliseconds(3000)
        let later = try #require(try report()).compactMap { if case .senderReport(let next) = $0 { next } else { nil } }
        #expect(zip(reports, later).map { $1.rtpTimestamp &- $0.rtpTimestamp } == [270_000, 144_000])
        var bytes: [UInt8] = []
        #expect(peer.bundle.writeGoodbye(at: peer.now, to: &bytes))
        #expect(try RTCPPacket.parse(bytes).last == .goodbye(peer.bundle.streams.flatMap(\.sources)))
    }

    /// What comes while the peer opens its speakers would wait in its buffer for good.
    @Test func soundWaitsForSpeakers() throws {
        let peer = Peer(opensSpeakers: true)
        let first = peer.now
        var heard: [(packet: RTPPacket, at: Instant)] = []
        for _ in 0..<60 {
            peer.hear()
            heard += try peer.play(for: 20)
        }
        let pause = OutgoingStream.openingTime
        #expect(
            heard.map(\.at) == [first] + (0..<60).map { first + .milliseconds(20) * $0 }.filter { $0 >= first + pause }
        )
        let headers = heard.map(\.packet.header)
        #expect(zip(headers, headers.dropFirst()).allSatisfy { $1.sequenceNumber == $0.sequenceNumber &+ 1 })
        let ticks = UInt32(pause / .milliseconds(1)) * 48
        #expect(headers[1].timestamp &- headers[0].timestamp == ticks)
        #expect(peer.bundle["sound"]!.statistics.skips == 0)
    }

    /// As much is left out as was asked for. Its numbers are used for what follows, so the peer does not take it for lost. Of little,
    /// its timestamps are used, too, and a report tells of that.
    @Test(arguments: [(20, false), (40, true), (240, true), (5000, true)])
    func whatHasPiledUpIsLeftOut(milliseconds: Int, leavesGap: Bool) throws {
        let peer = Peer()
        var heard: [RTPPacket] = []
        func hear(_ packets: Int) throws {
            for _ in 0..<packets {
                peer.hear()
                heard += try peer.play(for: 20).map(\.packet)
            }
        }
        try hear(5)
        peer.bundle.skipSound(.milliseconds(milliseconds), at: peer.now)
        try hear(milliseconds / 20 + 5)
        let headers = heard.map(\.header)
        #expect(headers.count == 10)
        #expect(zip(headers, headers.dropFirst()).allSatisfy { $1.sequenceNumber == $0.sequenceNumber &+ 1 })
        let steps = zip(headers, headers.dropFirst()).map { $1.timestamp &- $0.timestamp }
        let gap = leavesGap ? UInt32(milliseconds) * 48 : 0
        #expect(steps.enumerated().allSatisfy { $1 == ($0 == 4 ? 960 + gap : 960) })
        let reported = peer.bundle["sound"]!.report(at: peer.now, clock: Self.clock).rtpTimestamp
        #expect(reported &- headers[9].timestamp == 960, "reports and packets have the same clock")
        // Pictures go on.
        peer.show(1, in: peer.screen)
        peer.bundle.skipSound(.seconds(1), at: peer.now)
        #expect(try peer.play(for: 100).count == 1)
    }

    /// Of packets that are captured less than 20 ms apart, timestamps stay as they are.
    @Test(arguments: [1, 10, 19]) func aDeviceThatRunsFastKeepsItsClock(milliseconds: Int) throws {
        let peer = Peer()
        peer.hear()
        var heard = try peer.play(for: 20).map(\.packet)
        let next = peer.now - .milliseconds(20 - milliseconds)
        peer.bundle.skipSound(.milliseconds(20), at: peer.now - .milliseconds(20))
        peer.sound.append(sound: [UInt8](repeating: 2, count: 80), capturedAt: next, now: peer.now)
        heard += try peer.play(for: 20).map(\.packet)
        let timestamps = heard.map(\.header.timestamp)
        #expect(timestamps.count == 2)
        #expect(timestamps[1] &- timestamps[0] == UInt32(milliseconds) * 48)
    }

    /// What is not there cannot be left out: a silence keeps its length.
    @Test(arguments: [0, 1, 19, 20, 10_000]) func aSilenceKeepsItsLength(milliseconds: Int) throws {
        let peer = Peer()
        var heard: [RTPPacket] = []
        peer.hear()
        heard += try peer.play(for: 20).map(\.packet)
        let first = peer.now - .milliseconds(20)
        peer.bundle.skipSound(.milliseconds(20), at: peer.now - .milliseconds(20))
        heard += try peer.play(for: milliseconds).map(\.packet)
        peer.hear()
        heard += try peer.play(for: 20).map(\.packet)
        let timestamps = heard.map(\.header.timestamp)
        #expect(timestamps.count == 2)
        #expect(timestamps[1] &- timestamps[0] == UInt32((peer.now - first) / .milliseconds(1) - 20) * 48)
    }

    @Test func soundNeedsNoKeyframeAndGoesOnWithTheLatest() throws {
        let peer = Peer(rate: 100_000_000, burst: 100_000)
        for _ in 0..<30 {
            peer.hear()
            peer.now += .milliseconds(20)
        }
        expect(!peer.bundle.takeKeyframeRequest(of: "sound", at: peer.now))
        expect(peer.bundle.takeKeyframeRequest(of: "screen", at: peer.now))
        #expect(try peer.drain().count == 1, "it begins with the latest")
        // The network thread is held up for half a second.
        for _ in 0..<25 {
            peer.hear()
            peer.now += .milliseconds(20)
        }
        let late = try peer.drain()
        #expect(late.count == 1)
        #expect(peer.bundle["sound"]!.statistics.skips == 1)
        // A short while is made up for.
        for _ in 0..<4 {
            peer.hear()
            peer.now += .milliseconds(20)
        }
        let rest = try peer.drain()
        #expect(rest.count == 4)
        let numbers = (late + rest).map(\.header.sequenceNumber)
        #expect(numbers == (0..<5).map { numbers[0] &+ $0 })
        _ = peer.sound.forget(takenBefore: .nanoseconds(.max))
        #expect(try peer.drain().isEmpty)
        expect(!peer.bundle.takeKeyframeRequest(of: "sound", at: peer.now + .milliseconds(60_000)))
    }

    @Test func feedbackGoesToTheStreamThatItNames() throws {
        let peer = Peer(rate: 100_000_000, burst: 100_000)
        for history in [peer.screen, peer.camera] { peer.show(3, in: history) }
        let packets = try peer.drain()
        peer.now += .milliseconds(500)
        let camera = peer.bundle["camera"]!
        peer.bundle.receive(.pictureLoss(PictureLossIndication(sender: 1, media: camera.ssrc)), now: peer.now)
        expect(!peer.bundle.takeKeyframeRequest(of: "screen", at: peer.now))
        expect(peer.bundle.takeKeyframeRequest(of: "camera", at: peer.now))
        let number = packets.first { $0.header.ssrc == camera.ssrc }!.header.sequenceNumber
        peer.bundle.receive(.genericNACK(GenericNACK(sender: 1, media: camera.ssrc, lost: [number])), now: peer.now)
        #expect(try peer.drain().map(\.header.ssrc) == [camera.retransmissionSSRC])
        #expect(peer.bundle.streams.map(\.statistics.nacks) == [0, 1, 0])
        #expect(peer.bundle.streams.map(\.statistics.keyframeRequests) == [0, 1, 0])
    }

    /// What one stream lets go again is missing in the other, or twice as much would be sent into a loss.
    @Test func whatIsSentAgainIsLimitedForAllTogether() throws {
        func repeated(_ mids: [String]) throws -> UInt64 {
            let peer = Peer(rate: 10_000_000, burst: 100_000)
            for history in [peer.screen, peer.camera] { peer.show(150, in: history) }
            let sent = try peer.play(for: 400)
            for mid in mids {
                let ssrc = peer.bundle[mid]!.ssrc
                let numbers = sent.filter { $0.packet.header.ssrc == ssrc }.map(\.packet.header.sequenceNumber)
                peer.bundle.receive(.genericNACK(GenericNACK(sender: 1, media: ssrc, lost: numbers)), now: peer.now)
            }
            _ = try peer.play(for: 1000)
            return peer.bundle.streams.reduce(0) { $0 + $1.statistics.retransmissions }
        }
        let alone = try repeated(["screen"])
        #expect(alone > 100)
        #expect(try repeated(["screen", "camera"]) == alone)
    }

    @Test func aPeerIsInReachAsLongAsOneStreamArrives() throws {
        for arrives in [true, false] {
            let peer = Peer(rate: 100_000_000, burst: 100_000)
            var lostAfter: Int?
            for second in 0..<40 where lostAfter == nil {
                for _ in 0..<10 {
                    peer.hear()
                    peer.show(1, in: peer.screen)
                    _ = try peer.drain()
                    peer.now += .milliseconds(100)
                }
                // As browsers do: a report on each stream by itself.
                peer.report("screen", highest: 1)
                peer.report("sound", highest: arrives ? UInt32(second) : 1)
                if peer.bundle.isLost(at: peer.now) { lostAfter = second }
            }
            #expect(lostAfter == (arrives ? nil : 16))
            guard arrives else { continue }
            // Any feedback on any of them counts.
            peer.now += .milliseconds(29_000)
            peer.bundle.receive(
                .pictureLoss(PictureLossIndication(sender: 1, media: peer.bundle["camera"]!.ssrc)),
                now: peer.now
            )
            peer.now += .milliseconds(29_000)
            #expect(!peer.bundle.isLost(at: peer.now))
            peer.now += .milliseconds(1000)
            #expect(peer.bundle.isLost(at: peer.now))
        }
    }

    @Test func asManyStreamsAsThereMayBeFitIntoOneDatagram() throws {
        var random = SplitMix64(seed: 8)
        let sound = PacketHistory(soundOf: 200, capacity: 50)
        let streams = (0..<StreamBundle.limit).map { number in
            (OutgoingStream.Parameters(payloadType: 111, retransmissionPayloadType: 112, mid: "\(number)"), sound)
        }
        var bundle = StreamBundle(
            streams,
            pace: .init(rate: 1 << 40, burst: 1 << 20),
            clock: Self.clock,
            using: &random
        )
        sound.append(sound: [1, 2, 3], capturedAt: Self.start, now: Self.start)
        var bytes: [UInt8] = []
        while bundle.writeNext(at: Self.start, to: &bytes) {}
        bytes.removeAll()
        expect(bundle.writeGoodbye(at: Self.start, to: &bytes))
        #expect(bytes.count + 20 <= 1200, "with its seal")
        #expect(try RTCPPacket.parse(bytes).count == StreamBundle.limit + 1)
        #expect(CanonicalName.all(in: bytes).count == StreamBundle.limit)
    }
}
