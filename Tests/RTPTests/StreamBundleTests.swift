import Media
import TestSupport
import Testing
import Time

@testable import RTP

@Suite struct StreamBundleTests {
    private let start = Instant.seconds(1000)

    /// A sender, its history and its output.
    private struct Stream {
        var sender: StreamBundle
        var history: PacketHistory
        var now: Instant

        init(
            retransmissions: Bool = true,
            canAskForRepair: Bool = true,
            extensions: HeaderExtensions = HeaderExtensions(),
            at now: Instant
        ) {
            var random = SplitMix64(seed: 4)
            self.now = now
            history = PacketHistory(codec: .vp8, maximumPayloadSize: 1000, capacity: 200, using: &random)
            sender = StreamBundle(
                [
                    (
                        OutgoingStream.Parameters(
                            payloadType: 96,
                            retransmissionPayloadType: retransmissions ? 97 : nil,
                            canAskForRepair: canAskForRepair,
                            extensions: extensions,
                            mid: "0"
                        ), history
                    )
                ],
                pace: .init(rate: 100_000_000, burst: 100_000),
                clock: ClockReading(monotonic: now, wall: 0),
                using: &random
            )
        }

        var only: OutgoingStream { sender.streams[0] }
        var ssrc: UInt32 { only.ssrc }
        mutating func takeKeyframeRequest() -> Bool { sender.takeKeyframeRequest(of: "0", at: now) }

        /// One that has sent a keyframe of one packet.
        static func playing(canAskForRepair: Bool = true, at now: Instant) -> Stream {
            var stream = Stream(canAskForRepair: canAskForRepair, at: now)
            stream.append(isKeyframe: true)
            _ = stream.drain()
            return stream
        }

        mutating func append(_ packets: Int = 1, isKeyframe: Bool = false) {
            history.append(packets, isKeyframe: isKeyframe, at: now)
        }

        mutating func drain() -> [[UInt8]] {
            var packets: [[UInt8]] = []
            var bytes: [UInt8] = []
            while sender.writeNext(at: now, to: &bytes) {
                packets.append(bytes)
                bytes.removeAll()
            }
            return packets
        }

        mutating func lose(_ numbers: UInt16...) {
            sender.receive(.genericNACK(GenericNACK(sender: 1, media: ssrc, lost: numbers)), now: now)
        }

        mutating func report(lost: Int32 = 7, highest: UInt32 = 0) {
            let block = ReportBlock(
                ssrc: ssrc,
                fractionLost: 128,
                cumulativeLost: lost,
                highestSequenceNumber: highest,
                jitter: 0,
                lastSenderReport: 0,
                delaySinceLastSenderReport: 0
            )
            sender.receive(.receiverReport(ReceiverReport(ssrc: 1, reports: [block])), now: now)
        }

        mutating func losePicture() {
            sender.receive(.pictureLoss(PictureLossIndication(sender: 1, media: ssrc)), now: now)
        }
    }

    private func number(_ packet: [UInt8]) -> UInt16 { UInt16(packet[2]) << 8 | UInt16(packet[3]) }

    /// Invariant: firstPicture.
    @Test func aStreamBeginsWithAKeyframeThatIsNotOld() {
        var stream = Stream(at: start)
        stream.append(isKeyframe: false)
        #expect(stream.drain().isEmpty)
        stream.append(2, isKeyframe: true)
        stream.append()
        stream.now += .milliseconds(400)
        #expect(stream.drain().count == 3)
        expect(!stream.takeKeyframeRequest())
        var late = Stream(at: start)
        late.append(isKeyframe: true)
        late.now += .milliseconds(400) + .nanoseconds(1)
        #expect(late.drain().isEmpty)
        expect(late.takeKeyframeRequest())
        expect(!late.takeKeyframeRequest())
    }

    /// Invariant: isolated.
    @Test func aViewerThatLagsGoesOnWithTheNewestKeyframe() {
        var stream = Stream(at: start)
        stream.append(isKeyframe: true)
        let first = stream.drain()
        stream.append(3)
        stream.append(2, isKeyframe: true)
        stream.now += .milliseconds(501)
        #expect(stream.drain().map { number($0) } == [1, 2].map { number(first[0]) &+ $0 }, "without a gap")
        #expect(stream.only.statistics.skips == 1)
    }

    /// What made it late would make a keyframe late too.
    @Test func aViewerThatLagsDoesNotAskForAKeyframe() {
        var stream = Stream.playing(at: start)
        stream.append(3)
        stream.now += .milliseconds(5000)
        #expect(stream.drain().count == 3)
        expect(!stream.takeKeyframeRequest())
    }

    /// All viewers pay for what one of them asks for.
    /// Invariant: isolated.
    @Test func whoAsksAgainAndAgainIsHeardAtLongerIntervals() {
        var stream = Stream.playing(at: start)
        var granted: [Duration] = []
        for _ in 0..<200 {
            stream.now += .milliseconds(100)
            stream.losePicture()
            if stream.takeKeyframeRequest() {
                granted.append(stream.now - start)
            }
        }
        #expect(granted == [1, 11, 31, 71, 151].map { .milliseconds(100 * $0) })
    }

    /// Peers repeat the request until a picture is there.
    @Test func aKeyframeAnswersWhatIsAskedWhileItIsOnItsWay() {
        var stream = Stream.playing(at: start)
        stream.now += .milliseconds(3000)
        stream.losePicture()
        expect(stream.takeKeyframeRequest())
        stream.losePicture()
        stream.append(2, isKeyframe: true)
        _ = stream.drain()
        stream.now += .milliseconds(99)
        stream.losePicture()
        stream.now += .milliseconds(5000)
        expect(!stream.takeKeyframeRequest())
        stream.losePicture()
        expect(stream.takeKeyframeRequest())
    }

    @Test func whoCannotAskIsMendedWhenItReportsLoss() {
        for canAsk in [false, true] {
            var stream = Stream.playing(canAskForRepair: canAsk, at: start)
            stream.report(lost: 0)
            expect(!stream.takeKeyframeRequest())
            stream.report(lost: 1)
            expect(stream.takeKeyframeRequest() == !canAsk)
        }
    }

    /// Beyond that, sending more makes more of it get lost.
    @Test func whatIsSentAgainIsLimited() {
        var stream = Stream(at: start)
        stream.append(isKeyframe: true)
        var last = number(stream.drain()[0])
        var repeated = 0
        // A fifth of a tenth of the pace, and all of it lost for two seconds.
        for _ in 0..<200 {
            stream.now += .milliseconds(10)
            stream.append(25)
            let sent = stream.drain()
            for packet in sent where packet[1] & 0x7F == 96 { last = number(packet) }
            repeated += sent.count { $0[1] & 0x7F == 97 }
            for distance in 0..<25 as Range<UInt16> { stream.lose(last &- distance) }
        }
        #expect(1500...2300 ~= repeated, "10 Mb/s in packets taken as 1200 bytes, and a keyframe's worth: \(repeated)")
        #expect(stream.only.statistics.packets == 5001, "the picture goes on")
    }

    /// Requests for what is gone must not take the places of others.
    @Test func whatIsGoneIsNotWaitedFor() {
        var stream = Stream(at: start)
        stream.append(isKeyframe: true)
        var last = number(stream.drain()[0])
        for _ in 0..<20 {
            stream.now += .milliseconds(100)
            stream.append(90)
            last = stream.drain().map { number($0) }.last!
            // More than the budget has room for.
            for distance in 0..<300 as Range<UInt16> { stream.lose(last &- 1000 &- distance) }
            for distance in 0..<5 as Range<UInt16> { stream.lose(last &- distance) }
            #expect(stream.drain().map { UInt16($0[12]) << 8 | UInt16($0[13]) } == (0..<5).map { last &- $0 })
        }
    }

    @Test func aHistoryThatRanAwayIsLeftBehind() {
        var stream = Stream(at: start)
        stream.append(isKeyframe: true)
        let first = stream.drain()
        stream.append(150)
        stream.append(2, isKeyframe: true)
        stream.append(100)
        let rest = stream.drain()
        #expect(stream.only.statistics.skips == 1)
        #expect(rest.count > 2)
        #expect(number(rest[0]) == number(first[0]) &+ 1)
        #expect(rest[0].suffix(990).allSatisfy { $0 == 9 })
    }

    @Test func whatWasNeverSentIsNotSentAgain() {
        var stream = Stream(at: start)
        stream.append(3, isKeyframe: true)
        stream.lose(0, 1, 40_000)
        let packets = stream.drain()
        let last = number(packets[2])
        stream.lose(last &+ 1, last &- 3, last &+ 0x8000, last &- 0x8000)
        #expect(stream.drain().isEmpty)
        #expect(stream.only.statistics.nacks == 2)
        stream.lose(last, last, last &- 2)
        let again = stream.drain().map { Array($0[12..<14]) }
        #expect(again == [packets[2], packets[0]].map { Array($0[2..<4]) })
        #expect(stream.only.statistics.retransmissions == 2)
    }

    @Test func aRepetitionOnItsWayIsNotAskedForTwice() {
        var stream = Stream(at: start)
        stream.append(isKeyframe: true)
        let packet = stream.drain()[0]
        for (wait, count) in [(0, 1), (9, 0), (1, 1), (9, 0), (100, 1)] as [(Int, Int)] {
            stream.now += .milliseconds(wait)
            stream.lose(number(packet))
            #expect(stream.drain().count == count)
        }
    }

    /// Otherwise two texts would be sealed with one nonce.
    /// Invariant: sameBytes.
    @Test func withoutAStreamForItARepetitionIsTheSameByteForByte() {
        var stream = Stream(retransmissions: false, extensions: HeaderExtensions(mid: 1, captureTime: 2), at: start)
        stream.append(3, isKeyframe: true)
        let packets = stream.drain()
        stream.report()
        stream.now += .milliseconds(50)
        for packet in packets { stream.lose(number(packet)) }
        #expect(stream.drain() == packets)
        stream.append()
        let later = stream.drain()
        #expect(extensionElements(of: later[0])[1] == nil)
        #expect(stream.only.retransmissionSSRC == nil)
    }

    @Test func theMidGoesOutUntilTheViewerReports() {
        var stream = Stream(extensions: HeaderExtensions(mid: 5), at: start)
        stream.append(3, isKeyframe: true)
        #expect(stream.drain().allSatisfy { extensionElements(of: $0) == [5: [0x30]] })
        stream.report()
        stream.append(3)
        #expect(stream.drain().allSatisfy { extensionElements(of: $0).isEmpty })
        #expect(stream.only.statistics.lossFraction == 0.5)
        #expect(stream.only.statistics.packetsLost == 7)
    }

    /// To the receiver it is one stream: its numbers have no gap, no two pictures have one timestamp, and the payload types
    /// tell which codec it is.
    /// The socket may be full at a change, and the keyframe to go on with too old when it has room again.
    @Test func aKeyframeThatIsTooOldAfterAChangeIsAskedForAnew() throws {
        var stream = Stream(at: start)
        stream.append(2, isKeyframe: true)
        #expect(stream.drain().count == 2 && !stream.takeKeyframeRequest())
        var random = SplitMix64(seed: 9)
        stream.history = PacketHistory(codec: .av1, maximumPayloadSize: 1000, capacity: 200, using: &random)
        var unit = [UInt8](repeating: 7, count: 990)
        unit[0] = 0x30
        stream.history.append(
            frame: unit,
            isKeyframe: true,
            dimensions: (64, 64),
            capturedAt: start,
            now: start
        )
        stream.sender.change(
            to: OutgoingStream.Parameters(payloadType: 45, retransmissionPayloadType: 46, mid: "0"),
            from: stream.history
        )
        stream.now = start + .milliseconds(10_000)
        #expect(stream.drain().isEmpty && stream.takeKeyframeRequest())
    }

    @Test func theCodecChangesAtAKeyframe() throws {
        var stream = Stream(at: start)
        stream.append(2, isKeyframe: true)
        stream.append(3)
        let old = stream.drain()
        stream.append(2)
        var random = SplitMix64(seed: 9)
        stream.history = PacketHistory(codec: .av1, maximumPayloadSize: 1000, capacity: 200, using: &random)
        let parameters = OutgoingStream.Parameters(payloadType: 45, retransmissionPayloadType: 46, mid: "0")
        // Captured before what was sent last.
        stream.now += .milliseconds(-20)
        func append(_ packets: Int, isKeyframe: Bool) {
            // A frame OBU of unknown length.
            var unit = [UInt8](repeating: 7, count: packets * 990)
            unit[0] = 0x30
            stream.history.append(
                frame: unit,
                isKeyframe: isKeyframe,
                dimensions: (64, 64),
                capturedAt: stream.now,
                now: start
            )
        }
        append(1, isKeyframe: false)
        expect(!stream.history.canBegin(at: start))
        append(3, isKeyframe: true)
        expect(stream.history.canBegin(at: start))
        stream.sender.change(to: parameters, from: stream.history)
        stream.now = start
        let new = try stream.drain().map { try RTPPacket(parsing: $0).header }
        let before = try old.map { try RTPPacket(parsing: $0).header }
        #expect(before.map(\.payloadType) == [96, 96, 96, 96, 96])
        #expect(new.map(\.payloadType) == [45, 45, 45])
        let numbers = (before + new).map(\.sequenceNumber)
        #expect(numbers == (0..<8).map { numbers[0] &+ $0 })
        #expect(new.allSatisfy { $0.ssrc == before[0].ssrc })
        let later = Int32(bitPattern: new[0].timestamp &- before[4].timestamp)
        #expect(later > 0 && Set(new.map(\.timestamp)).count == 1)
        // What was lost before is not there any more, and what is lost now comes in the other stream.
        stream.lose(numbers[4], numbers[6])
        let repaired = try stream.drain().map { try RTPPacket(parsing: $0) }
        #expect(repaired.map(\.header.payloadType) == [46])
        #expect(repaired[0].payload.prefix(2) == [UInt8(numbers[6] >> 8), UInt8(truncatingIfNeeded: numbers[6])])
        // The report goes with the new timestamps.
        stream.now += .seconds(3600)
        append(1, isKeyframe: false)
        let last = try RTPPacket(parsing: stream.drain()[0]).header
        var bytes: [UInt8] = []
        expect(stream.sender.writeReport(at: stream.now, to: &bytes))
        guard case .senderReport(let report) = try RTCPPacket.parse(bytes)[0] else {
            Issue.record("no sender report")
            return
        }
        #expect(report.rtpTimestamp == last.timestamp)
    }

    @Test func aRepeatedCommandIsNotANewOne() {
        var stream = Stream.playing(at: start)
        let ssrc = stream.ssrc
        for (number, requester, asks) in [(1, 8, true), (1, 8, false), (2, 8, true), (1, 9, true), (1, 8, true)] {
            let command = FullIntraRequest.Command(ssrc: ssrc, sequenceNumber: UInt8(number))
            let other = FullIntraRequest.Command(ssrc: ssrc &+ 1, sequenceNumber: 77)
            let request = FullIntraRequest(sender: UInt32(requester), commands: [other, command])
            stream.now += .milliseconds(60_000)
            stream.sender.receive(.fullIntra(request), now: stream.now)
            expect(stream.takeKeyframeRequest() == asks)
        }
    }

    @Test func whoNeverSentSaysNothing() throws {
        var stream = Stream(at: start)
        var bytes: [UInt8] = []
        expect(!stream.sender.writeReport(at: start, to: &bytes))
        expect(!stream.sender.writeGoodbye(at: start, to: &bytes))
        #expect(stream.sender.nextDeadline == nil)
        stream.append(isKeyframe: true)
        _ = stream.drain()
        expect(stream.sender.writeReport(at: start, to: &bytes))
        expect(!stream.sender.writeReport(at: start, to: &bytes))
        bytes = []
        expect(stream.sender.writeGoodbye(at: start, to: &bytes))
        let ssrcs = [stream.ssrc, try #require(stream.only.retransmissionSSRC)]
        #expect(try RTCPPacket.parse(bytes).last == .goodbye(ssrcs))
    }
}
