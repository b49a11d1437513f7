import Media
import TestSupport
import Testing
import Time

@testable import RTP

/// A frame of a codec as its packets tell it: what follows the headers is random.
private func frame(_ codec: VideoCodec, _ size: Int, isKeyframe: Bool, using random: inout SplitMix) -> [UInt8] {
    var bytes = (0..<size).map { _ in random.next(upperBound: 256 as UInt) }.map { UInt8($0) }
    switch codec {
    case .vp8: bytes[0] = bytes[0] & ~1 | (isKeyframe ? 0 : 1)
    case .vp9: break
    case .av1:
        // A temporal delimiter, a sequence header before a keyframe, and one or two frames with their sizes.
        var unit: [UInt8] = [0x12, 0]
        if isKeyframe { unit += [0x0A, 3, 1, 2, 3] }
        let cut = size / 3
        for part in [bytes[..<cut], bytes[cut...]] where !part.isEmpty {
            unit.append(0x32)
            LEB128.append(part.count, to: &unit)
            unit += part
        }
        bytes = unit
    }
    return bytes
}

/// A sender and a receiver in virtual time, with a link each way.
private struct Line {
    static let step = Duration.milliseconds(1)
    static let frameInterval = 33

    let codec: VideoCodec
    let history: PacketHistory
    var sender: StreamBundle
    var receiver: IncomingBundle
    var there: VirtualLink
    var back: VirtualLink
    var random: SplitMix
    var now = Instant.seconds(100)
    var sent: [(bytes: [UInt8], isKeyframe: Bool)] = []
    var received: [ReceivedFrame] = []
    var wantsKeyframe = false
    private var onWay: [(at: Instant, isBack: Bool, bytes: [UInt8])] = []

    init(_ codec: VideoCodec, _ conditions: VirtualLink.Conditions, repeatsApart: Bool, seed: UInt64) {
        self.codec = codec
        random = SplitMix(seed: seed)
        history = PacketHistory(codec: codec, maximumPayloadSize: 300, capacity: 2048, using: &random)
        let extensions = HeaderExtensions(mid: 4, transportNumber: repeatsApart ? 5 : nil)
        let parameters = OutgoingStream.Parameters(
            payloadType: 96,
            retransmissionPayloadType: repeatsApart ? 97 : nil,
            extensions: extensions,
            mid: "0"
        )
        sender = StreamBundle(
            [(parameters, history)],
            pace: .video(targetBitrate: 8_000_000),
            clock: ClockReading(monotonic: now, wall: 1 << 60),
            using: &random
        )
        receiver = IncomingBundle(
            [
                IncomingBundle.Description(
                    mid: "0",
                    codecs: [96: .video(codec)],
                    retransmissions: repeatsApart ? [97: 96] : [:],
                    extensions: extensions
                )
            ],
            using: &random
        )
        there = VirtualLink(conditions, seed: seed &+ 1)
        back = VirtualLink(VirtualLink.Conditions(rate: 10_000_000), seed: seed &+ 2)
    }

    /// - Parameter milliseconds: while which a frame is sent each `frameInterval`, unless `sends` is false.
    mutating func run(_ milliseconds: Int, sends: Bool = true) throws {
        for step in 0..<milliseconds {
            now += Self.step
            if sends, step % Self.frameInterval == 0 { append() }
            var packet: [UInt8] = []
            while sender.writeNext(at: now, to: &packet) || sender.writeReport(at: now, to: &packet) {
                for at in there.send(packet.count, at: now) { onWay.append((at, false, packet)) }
                packet = []
            }
            onWay.sort { $0.at < $1.at }
            while let first = onWay.first, first.at <= now {
                onWay.removeFirst()
                if first.isBack || 192...223 ~= first.bytes[1] {
                    for packet in try RTCPPacket.parse(first.bytes) {
                        if first.isBack { sender.receive(packet, now: now) } else { receiver.receive(packet, now: now) }
                    }
                } else {
                    receiver.receive(first.bytes, now: now)
                }
            }
            var feedback: [UInt8] = []
            while receiver.writeFeedback(as: 1, named: "name", roundTripTime: nil, at: now, to: &feedback) {
                #expect(feedback.count <= 1150, "it fits into a datagram")
                for at in back.send(feedback.count, at: now) { onWay.append((at, true, feedback)) }
                feedback = []
            }
            if let deadline = receiver.nextDeadline { expect(deadline > now) }
            if sender.takeKeyframeRequest(of: "0", at: now) { wantsKeyframe = true }
            received += receiver.takeFrames()
        }
    }

    private mutating func append() {
        // The first one is made when it is asked for.
        guard wantsKeyframe || !sent.isEmpty else { return }
        let isKeyframe = wantsKeyframe
        wantsKeyframe = false
        let size = isKeyframe ? 9000 : Int.random(in: 1...2500, using: &random)
        let bytes = frame(codec, size, isKeyframe: isKeyframe, using: &random)
        sent.append((bytes, isKeyframe))
        history.append(frame: bytes, isKeyframe: isKeyframe, dimensions: (64, 64), capturedAt: now, now: now)
    }
}

@Suite struct ReceivingTests {
    private static let lossy = VirtualLink.Conditions(
        rate: 10_000_000,
        delay: .milliseconds(15),
        jitter: .milliseconds(12),
        reorders: true,
        loss: .random(0.05),
        duplication: 0.05
    )

    /// Invariant: untrustedMedia.
    @Test(arguments: VideoCodec.allCases, [true, false])
    func whatIsLostAndDisorderedComesWhole(codec: VideoCodec, repeatsApart: Bool) throws {
        for seed in 1...3 as ClosedRange<UInt64> {
            var line = Line(codec, Self.lossy, repeatsApart: repeatsApart, seed: seed)
            try line.run(33 * 121)
            // Nobody misses what is lost at the very end.
            line.there.conditions.loss = .none
            try line.run(500)
            try line.run(1000, sends: false)
            let keyframes = line.sent.count { $0.isKeyframe }
            #expect(keyframes == 1, "nothing had to begin anew")
            #expect(line.received.map(\.bytes) == line.sent.map(\.bytes), "\(seed)")
            #expect(line.received.map(\.isKeyframe) == line.sent.map(\.isKeyframe))
            let steps = zip(line.received, line.received.dropFirst()).map { $1.timestamp &- $0.timestamp }
            #expect(steps.allSatisfy { $0 == 33 * 90 })
            #expect(line.received.allSatisfy { $0.codec == codec })
        }
    }

    /// Where nothing comes again in time, the receiver goes on with a keyframe, and never shows what it cannot.
    /// Invariant: untrustedMedia.
    @Test(arguments: VideoCodec.allCases)
    func longLossesEndWithAKeyframe(codec: VideoCodec) throws {
        var conditions = Self.lossy
        conditions.loss = .bursts(good: 400, bad: 60)
        for seed in 1...3 as ClosedRange<UInt64> {
            var line = Line(codec, conditions, repeatsApart: true, seed: seed)
            try line.run(12_000)
            line.there.conditions.loss = .none
            try line.run(1500)
            let sent = Dictionary(line.sent.enumerated().map { ($1.bytes, $0) }) { first, _ in first }
            var last = -1
            for frame in line.received {
                let index = try #require(sent[frame.bytes], "a frame that was sent")
                #expect(index > last)
                #expect(index == last + 1 || frame.isKeyframe, "after a gap comes a keyframe")
                last = index
            }
            #expect(line.received.count > 100)
            #expect(last >= line.sent.count - 4, "it has caught up")
        }
    }

    /// A keyframe that is whole is taken without waiting for what was lost before it.
    @Test func aKeyframeOvertakesWhatIsMissing() throws {
        var line = Line(.vp8, VirtualLink.Conditions(rate: 10_000_000), repeatsApart: true, seed: 7)
        try line.run(300)
        let before = line.received.count
        // Requests are lost too, so that nothing is sent again.
        line.back.conditions.loss = .random(1)
        line.there.conditions.loss = .random(1)
        try line.run(34)
        line.there.conditions.loss = .none
        line.wantsKeyframe = true
        try line.run(100)
        #expect(line.received.count > before)
        let hasKeyframe = line.received.dropFirst(before).contains { $0.isKeyframe }
        #expect(hasKeyframe)
    }

    /// A peer that asks for a frame again and again costs little, and nothing once it gives up.
    @Test func requestsAreBounded() throws {
        var random = SplitMix(seed: 1)
        var receiver = IncomingBundle(
            [.init(mid: "", codecs: [96: .video(.vp8)], retransmissions: [:], extensions: HeaderExtensions())],
            using: &random
        )
        var now = Instant.seconds(10)
        func packet(_ number: UInt16, _ first: UInt8) -> [UInt8] {
            var bytes: [UInt8] = []
            RTPHeader(marker: true, payloadType: 96, sequenceNumber: number, timestamp: UInt32(number), ssrc: 5)
                .write(to: &bytes)
            return bytes + [0x10, first, 0, 0]
        }
        receiver.receive(packet(1, 0), now: now)
        receiver.receive(packet(3, 1), now: now)
        expect(receiver.takeFrames().count == 1)
        var (requests, indications) = (0, 0)
        for _ in 0..<5000 {
            now += .milliseconds(1)
            var bytes: [UInt8] = []
            while receiver.writeFeedback(as: 1, named: "n", roundTripTime: .milliseconds(30), at: now, to: &bytes) {
                for packet in try RTCPPacket.parse(bytes) {
                    if case .genericNACK(let nack) = packet {
                        #expect(nack.lost == [2])
                        requests += 1
                    }
                    if case .pictureLoss(let loss) = packet {
                        #expect(loss == PictureLossIndication(sender: 1, media: 5))
                        indications += 1
                    }
                }
                bytes = []
            }
        }
        #expect(requests == PacketLosses.mostRequests)
        // Nothing more came that would tell that the peer is there.
        #expect(indications == 1)
        expect(receiver.takeFrames().isEmpty)
        receiver.receive(packet(4, 1), now: now)
        expect(receiver.takeFrames().isEmpty)
        receiver.receive(packet(5, 0), now: now)
        expect(receiver.takeFrames().map(\.isKeyframe) == [true])
    }

    /// A later loss may have been asked for in vain before an earlier one, as the round trip changes.
    @Test func aLaterLossDoesNotKeepTheReceiverBusy() {
        var losses = PacketLosses()
        var now = Instant.seconds(1)
        expect(losses.noteGap(5..<6, now: now))
        now += PacketLosses.patience
        expect(losses.takeRequests(roundTripTime: .seconds(10), at: now) == [5])
        expect(losses.noteGap(7..<8, now: now))
        for _ in 0..<100 {
            guard let deadline = losses.nextDeadline else { break }
            expect(deadline > now || !losses.takeRequests(roundTripTime: .milliseconds(20), at: now).isEmpty)
            now = max(deadline, now)
            if now >= .seconds(11) { break }
            _ = losses.takeRequests(roundTripTime: .milliseconds(20), at: now)
        }
        #expect(now >= .seconds(11))
    }

    /// What a decoder cannot use is asked for anew.
    @Test func aDecoderThatFailsGetsAKeyframe() throws {
        var line = Line(.vp8, VirtualLink.Conditions(rate: 10_000_000), repeatsApart: true, seed: 3)
        try line.run(1000)
        let before = line.received.count
        #expect(before > 20)
        line.receiver.requestKeyframes()
        try line.run(1000)
        #expect(line.received[before].isKeyframe)
        #expect(line.received.count > before + 20)
    }

    /// Numbers beyond the buffer, a source that begins anew, and packets of nobody.
    @Test func strangePacketsDoNoHarm() throws {
        var random = SplitMix(seed: 2)
        var receiver = IncomingBundle(
            [
                .init(
                    mid: "v",
                    codecs: [96: .video(.vp8)],
                    retransmissions: [97: 96],
                    extensions: HeaderExtensions(mid: 1, transportNumber: 2)
                )
            ],
            using: &random
        )
        let now = Instant.seconds(10)
        func packet(_ number: UInt16, type: UInt8 = 96, ssrc: UInt32 = 5, first: UInt8 = 0) -> [UInt8] {
            var bytes: [UInt8] = []
            RTPHeader(marker: true, payloadType: type, sequenceNumber: number, timestamp: 0, ssrc: ssrc)
                .write(to: &bytes)
            return bytes + [0x10, first, 0, 0]
        }
        receiver.receive(packet(60_000), now: now)
        expect(receiver.takeFrames().count == 1)
        receiver.receive(packet(60_000 &+ 3000), now: now)
        expect(receiver.takeFrames().count == 1)
        receiver.receive(packet(7, ssrc: 6), now: now)
        expect(receiver.takeFrames().count == 1)
        receiver.receive(packet(8, type: 98, ssrc: 7), now: now)
        receiver.receive(packet(8, type: 97, ssrc: 8), now: now)
        for count in 0..<14 { receiver.receive(Array(packet(9).prefix(count)), now: now) }
        expect(receiver.takeFrames().count == 0)
    }

    private func bundle(_ codec: VideoCodec = .vp8) -> IncomingBundle {
        var random = SplitMix(seed: 2)
        return IncomingBundle(
            [.init(mid: "", codecs: [96: .video(codec)], retransmissions: [:], extensions: HeaderExtensions())],
            using: &random
        )
    }

    private func packet(
        _ number: UInt16,
        _ payload: [UInt8],
        isLast: Bool = true,
        timestamp: UInt32 = 0,
        ssrc: UInt32 = 5
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        RTPHeader(marker: isLast, payloadType: 96, sequenceNumber: number, timestamp: timestamp, ssrc: ssrc)
            .write(to: &bytes)
        return bytes + payload
    }

    private static let keyframe: [UInt8] = [0x10, 0, 0, 0]
    private static let delta: [UInt8] = [0x10, 1, 0, 0]

    /// A decoder fails while the next keyframe waits for a packet before it.
    @Test func aKeyframeThatIsThereIsNotMissed() {
        var receiver = bundle()
        let now = Instant.seconds(10)
        receiver.receive(packet(1, Self.keyframe), now: now)
        expect(receiver.takeFrames().count == 1)
        receiver.receive(packet(3, Self.keyframe, isLast: false), now: now)
        expect(receiver.takeFrames().isEmpty)
        receiver.requestKeyframes()
        receiver.receive(packet(4, [0x00, 7]), now: now)
        expect(receiver.takeFrames().map(\.bytes) == [[0, 0, 0, 7]])
    }

    /// As many keyframes as the buffer holds, none of which goes on as it should.
    @Test func manyBrokenKeyframesAreLeftOneAfterTheOther() {
        var receiver = bundle()
        let now = Instant.seconds(10)
        receiver.receive(packet(1, Self.keyframe), now: now)
        for number in 3...2047 as ClosedRange<UInt16> {
            receiver.receive(packet(number, Self.keyframe, isLast: false, timestamp: 1), now: now)
        }
        expect(receiver.takeFrames().count == 1)
        receiver.receive(packet(2, [0x00, 7], isLast: false, timestamp: 1), now: now)
        receiver.receive(packet(2048, [0x10, 0, 0, 9], timestamp: 2), now: now)
        expect(receiver.takeFrames().last?.bytes == [0, 0, 9])
    }

    /// A sender that sets no marker begins a keyframe before the frame under way has all it announced.
    @Test(
        arguments: [
            (.vp8, [0x10, 0, 7], [0x10, 1, 7]), (.vp9, [0x08, 0, 7], [0x48, 0, 7]),
            // An OBU that goes on in the next packet.
            (.av1, [0x18, 0x08, 7], [0x50, 0x30, 7]),
        ] as [(VideoCodec, keyframe: [UInt8], unfinished: [UInt8])]
    )
    func aKeyframeIsNotLostWithTheFrameBefore(codec: VideoCodec, keyframe: [UInt8], unfinished: [UInt8]) throws {
        var receiver = bundle(codec)
        let now = Instant.seconds(10)
        receiver.receive(packet(1, keyframe), now: now)
        receiver.receive(packet(2, unfinished, isLast: false, timestamp: 1), now: now)
        receiver.receive(packet(3, keyframe, isLast: false, timestamp: 2), now: now)
        receiver.receive(packet(4, keyframe, isLast: false, timestamp: 3), now: now)
        let frames = receiver.takeFrames().filter(\.isKeyframe)
        expect(frames.map(\.timestamp) == [0, 2])
        expect(frames.first?.bytes == frames.last?.bytes)
        var feedback: [UInt8] = []
        _ = receiver.writeFeedback(as: 1, named: "n", roundTripTime: nil, at: now, to: &feedback)
        #expect(try !RTCPPacket.parse(feedback).contains { if case .pictureLoss = $0 { true } else { false } })
    }

    /// Another source is one that begins anew, with a keyframe, unless the first has fallen silent.
    @Test func anotherSourceTakesOverWithAKeyframe() throws {
        var receiver = bundle()
        var now = Instant.seconds(10)
        receiver.receive(packet(1, Self.keyframe), now: now)
        receiver.receive(packet(100, Self.delta, ssrc: 6), now: now)
        receiver.receive(packet(2, Self.delta), now: now)
        expect(receiver.takeFrames().map(\.isKeyframe) == [true, false])
        receiver.receive(packet(101, Self.keyframe, ssrc: 6), now: now)
        receiver.receive(packet(102, Self.delta, ssrc: 6), now: now)
        expect(receiver.takeFrames().map(\.isKeyframe) == [true, false])
        now += .seconds(2)
        receiver.receive(packet(200, Self.delta, ssrc: 7), now: now)
        now += .seconds(1)
        var bytes: [UInt8] = []
        expect(receiver.writeFeedback(as: 1, named: "n", roundTripTime: nil, at: now, to: &bytes))
        #expect(try RTCPPacket.parse(bytes).contains(.pictureLoss(PictureLossIndication(sender: 1, media: 7))))
    }
}
