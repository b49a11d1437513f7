import Media
import RTP
import TestSupport
import Testing
import Time

@testable import Calls

/// A session in virtual time, with what it put out.
struct Simulation {
    var session: PlainRTPSession
    var now = Instant.seconds(50)
    var rtp: [(at: Instant, packet: RTPPacket)] = []
    var probes: [Instant] = []
    var rtcp: [(at: Instant, packets: [RTCPPacket], names: [CanonicalName])] = []

    init(_ configuration: PlainRTPSession.Configuration = .init(codec: .vp8)) {
        var random = SplitMix64(seed: 11)
        session = PlainRTPSession(
            configuration,
            clock: ClockReading(monotonic: now, wall: 1_767_225_600_000_000_000),
            using: &random
        )
    }

    mutating func send(_ size: Int, isKeyframe: Bool = false) throws {
        let frame = EncodedFrame(
            rendition: Rendition.ID(0),
            isKeyframe: isKeyframe,
            dimensions: (1280, 720),
            capturedAt: now - .milliseconds(5),
            captureTime: now - .milliseconds(5)
        )
        session.send([UInt8](repeating: 0xAB, count: size), frame, now: now)
        try drain()
    }

    mutating func drain() throws {
        var packets = DatagramBatch()
        var reports = DatagramBatch()
        session.nextOutput(now: now, rtp: &packets, rtcp: &reports)
        for index in 0..<packets.count {
            if packets[index].isEmpty {
                probes.append(now)
            } else {
                rtp.append((now, try RTPPacket(parsing: Array(packets[index]))))
            }
        }
        for index in 0..<reports.count {
            let bytes = Array(reports[index])
            rtcp.append((now, try RTCPPacket.parse(bytes), CanonicalName.all(in: bytes)))
        }
    }

    /// Lets time pass, going from deadline to deadline as a driver would.
    mutating func advance(milliseconds: Int) throws {
        let end = now + .milliseconds(milliseconds)
        while let deadline = session.nextDeadline, deadline <= end {
            now = max(now, deadline)
            try drain()
            #expect(session.nextDeadline.map { $0 > now } ?? true, "a deadline that was served moves on")
        }
        now = end
    }

    mutating func receive(_ bytes: [UInt8]) { session.receive(rtcp: bytes, now: now) }

    /// Whether a keyframe is asked for and may be made.
    var wantsKeyframe: Bool { session.keyframeAt.map { now >= $0 } ?? false }

    func bytes(_ ssrc: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: ssrc >> (24 - 8 * $0)) } }

    var pictureLoss: [UInt8] { [0x81, 206, 0, 2, 0, 0, 0, 1] + bytes(session.ssrc) }
    func fullIntra(_ number: UInt8) -> [UInt8] {
        [0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0] + bytes(session.ssrc) + [number, 0, 0, 0]
    }
}

@Suite struct PlainRTPSessionTests {
    @Test func aMinuteOfVideo() throws {
        var simulation = Simulation()
        var expected = 0
        for picture in 0..<1800 {
            try simulation.send(picture == 0 ? 100_000 : 3000, isKeyframe: picture == 0)
            expected += picture == 0 ? 86 : 3
            try simulation.advance(milliseconds: 33)
        }
        let packets = simulation.rtp.map(\.packet)
        #expect(packets.count == expected)
        #expect(packets.filter(\.header.marker).count == 1800)
        let first = packets[0].header.sequenceNumber
        #expect(packets.indices.allSatisfy { packets[$0].header.sequenceNumber == first &+ UInt16($0) })
        let stamps = packets.filter(\.header.marker).map(\.header.timestamp)
        #expect(zip(stamps, stamps.dropFirst()).allSatisfy { $1 &- $0 == 2970 })
        // The keyframe is spread, what follows leaves as soon as it may.
        #expect(simulation.rtp[84].at > simulation.rtp[0].at + .milliseconds(45))
        #expect(simulation.rtp[84].at < simulation.rtp[0].at + .milliseconds(60))

        // About one report a second, each a sender report and a name, tied to the timeline of the pictures.
        #expect((45...80).contains(simulation.rtcp.count))
        for (at, report, names) in simulation.rtcp {
            guard case .senderReport(let sender) = report[0] else {
                Issue.record("a report begins with a sender report")
                return
            }
            #expect(names.map(\.ssrc) == [simulation.session.ssrc] && names.first?.name.isEmpty == false)
            let sinceFirst = UInt64((at - (simulation.rtp[0].at - .milliseconds(5))).nanoseconds)
            #expect(
                sender.rtpTimestamp == stamps[0]
                    &+ UInt32(sinceFirst / 100_000 * 9 + sinceFirst % 100_000 * 9 / 100_000)
            )
        }
        guard case .senderReport(let last) = simulation.rtcp.last?.packets.first else { return }
        #expect(last.packetCount > 5000)
        #expect(last.octetCount > 100_000 + 1750 * 3000)
        let statistics = simulation.session.statistics
        #expect(statistics.frames == 1800 && statistics.keyframeRequests == 0)
        #expect(statistics.packets == UInt64(expected))
        #expect(statistics.bytes == UInt64(packets.reduce(0) { $0 + $1.payload.count + 12 }))
    }

    @Test func saysNothingBeforeTheFirstPicture() throws {
        var simulation = Simulation()
        #expect(simulation.session.nextDeadline == nil)
        try simulation.drain()
        var reports = DatagramBatch()
        simulation.session.end(now: simulation.now, rtcp: &reports)
        #expect(simulation.rtcp.isEmpty && reports.isEmpty)
    }

    @Test func endsWithGoodbye() throws {
        var simulation = Simulation()
        try simulation.send(50_000, isKeyframe: true)
        var batch = DatagramBatch()
        simulation.session.end(now: simulation.now, rtcp: &batch)
        let packets = try RTCPPacket.parse(Array(batch[0]))
        #expect(packets.count == 2 && CanonicalName.all(in: Array(batch[0])).count == 1)
        #expect(packets.last == .goodbye([simulation.session.ssrc]))
        #expect(simulation.session.nextDeadline == nil)
        let sent = simulation.rtp.count
        try simulation.send(10)
        try simulation.advance(milliseconds: 10_000)
        #expect(simulation.rtp.count == sent && simulation.session.statistics.frames == 1)
        simulation.session.end(now: simulation.now, rtcp: &batch)
        #expect(batch.count == 1)
    }

    @Test func feedbackAsksForAKeyframe() throws {
        var simulation = Simulation()
        try simulation.send(1000, isKeyframe: true)
        try simulation.advance(milliseconds: 1000)
        simulation.receive(simulation.pictureLoss)
        simulation.receive(simulation.fullIntra(1))
        #expect(simulation.wantsKeyframe)
        try simulation.send(1000, isKeyframe: true)
        #expect(simulation.session.keyframeAt == nil, "both were one request")
        try simulation.advance(milliseconds: 1000)
        simulation.receive(simulation.fullIntra(1))
        #expect(!simulation.wantsKeyframe, "a repetition")
        var foreign = simulation.pictureLoss
        foreign[11] ^= 1
        simulation.receive(foreign)
        #expect(!simulation.wantsKeyframe, "of another stream")
        #expect(simulation.session.statistics.keyframeRequests == 2)
    }

    @Test func aLostPacketIsSentAgainUnlessAPauseHidesIt() throws {
        var simulation = Simulation()
        try simulation.send(5000, isKeyframe: true)
        let sent = simulation.rtp.map(\.packet)
        try simulation.advance(milliseconds: 100)
        let number = sent[2].header.sequenceNumber
        let nack =
            [0x81, 205, 0, 3, 0, 0, 0, 1] + simulation.bytes(simulation.session.ssrc)
            + [UInt8(number >> 8), UInt8(truncatingIfNeeded: number), 0, 0]
        simulation.receive(nack)
        try simulation.advance(milliseconds: 100)
        #expect(simulation.rtp.map(\.packet) == sent + [sent[2]])
        simulation.session.forget(takenBefore: simulation.now, isCut: false)
        simulation.receive(nack)
        try simulation.advance(milliseconds: 100)
        #expect(simulation.rtp.count == sent.count + 1)
    }

    @Test func reportsOfTheReceiverAreKept() throws {
        var simulation = Simulation()
        try simulation.send(1000, isKeyframe: true)
        guard case .senderReport(let sent) = simulation.rtcp[0].packets[0] else { return }
        try simulation.advance(milliseconds: 250)
        // A quarter lost, 9 in all, 45 ticks of jitter, and 200 ms between the report's arrival and this answer.
        simulation.receive(
            [0x81, 201, 0, 7, 0, 0, 0, 1] + simulation.bytes(simulation.session.ssrc) + [0x40, 0, 0, 9]
                + [0, 0, 0, 1] + [0, 0, 0, 45] + simulation.bytes(sent.ntpTime.middle) + [0, 0, 0x33, 0x33]
        )
        let statistics = simulation.session.statistics
        #expect(statistics.lossFraction == 0.25)
        #expect(statistics.jitter == .microseconds(500))
        let roundTrip = try #require(statistics.roundTripTime)
        #expect((.microseconds(49_900) ... .microseconds(50_100)).contains(roundTrip))
    }

    /// Of a group, one that says little of its link would hold up the others.
    @Test(arguments: [false, true]) func anEstimateCountsUnlessThereAreSeveralReceivers(isMulticast: Bool) {
        var random = SplitMix64(seed: 11)
        var session = PlainRTPSession(
            .init(codec: .vp8),
            clock: ClockReading(monotonic: .seconds(50), wall: 0),
            isMulticast: isMulticast,
            using: &random
        )
        let head: [UInt8] = [0x8F, 206, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0]
        session.receive(rtcp: head + Array("REMB".utf8) + [0x01, 0x1C, 0x0C, 0x35, 0, 0, 0, 9], now: .seconds(50))
        #expect(session.linkRate == (isMulticast ? nil : 400_000))
        #expect(session.statistics.malformedFeedback == 0)
    }

    @Test func malformedFeedbackIsCounted() {
        var simulation = Simulation()
        simulation.receive([])
        simulation.receive([1, 2, 3])
        simulation.receive(Array(simulation.pictureLoss.dropLast()))
        #expect(simulation.session.statistics.malformedFeedback == 3)
        #expect(!simulation.wantsKeyframe)
    }

    /// Numbers and picture IDs go on without a gap, and the last packet leaves when the backlog said.
    @Test func whatWaitsIsTold() throws {
        var simulation = Simulation()
        #expect(simulation.session.backlog(at: simulation.now) == .zero)
        for picture in 0..<10 { try simulation.send(100_000, isKeyframe: picture == 0) }
        let backlog = simulation.session.backlog(at: simulation.now)
        // A megabyte at 12.5 Mb/s.
        #expect(backlog > .milliseconds(600) && backlog < .milliseconds(640))
        let end = simulation.now + backlog
        try simulation.advance(milliseconds: 2000)
        #expect(simulation.session.backlog(at: simulation.now) == .zero)
        // Headers are not in it.
        let last = try #require(simulation.rtp.last)
        #expect(last.at > end - .milliseconds(5) && last.at < end + .milliseconds(40))
        let pictures = simulation.rtp.map(\.packet).filter(\.header.marker)
        #expect(pictures.count == 10)
        let identifiers = pictures.map { UInt16($0.payload[2] & 0x7F) << 8 | UInt16($0.payload[3]) }
        #expect(zip(identifiers, identifiers.dropFirst()).allSatisfy { ($1 &- $0) & 0x7FFF == 1 })
    }

    /// What waits is not sent yet, or was handed out and could not be sent.
    @Test(arguments: [(1000, false, false), (1000, true, true), (100_000, false, true), (100_000, true, true)])
    func whoMissesWhatIsForgottenGetsAKeyframe(size: Int, isCut: Bool, isAsked: Bool) throws {
        var simulation = Simulation()
        try simulation.send(size, isKeyframe: true)
        simulation.session.forget(takenBefore: simulation.now, isCut: isCut)
        #expect(simulation.session.backlog(at: simulation.now) == .zero)
        let sent = simulation.rtp.count
        try simulation.advance(milliseconds: 1000)
        #expect(simulation.wantsKeyframe == isAsked)
        #expect(simulation.rtp.count == sent)
    }

    @Test func newListenerGetsAKeyframe() throws {
        var simulation = Simulation()
        try simulation.send(1000, isKeyframe: true)
        simulation.session.refused(now: simulation.now)
        #expect(!simulation.session.statistics.receiverListening)
        // Nobody for three seconds: each probe is refused.
        for _ in 0..<3 {
            let before = simulation.probes.count
            try simulation.advance(milliseconds: 1000)
            #expect(simulation.probes.count == before + 1)
            simulation.session.refused(now: simulation.now)
        }
        #expect(!simulation.wantsKeyframe)
        try simulation.advance(milliseconds: 3000)
        #expect(simulation.session.statistics.receiverListening)
        #expect(simulation.wantsKeyframe)
        #expect(simulation.probes.count == 4)
    }
}
