import TestSupport
import Testing
import Time

@testable import RTP

@Suite struct ReceiverReportTests {
    private func header(_ number: UInt16, _ timestamp: UInt32 = 0) -> RTPHeader {
        RTPHeader(marker: false, payloadType: 96, sequenceNumber: number, timestamp: timestamp, ssrc: 1)
    }

    /// RFC 3550 §A.3: lost in all and since the last report, over a wrap of numbers.
    @Test func losses() throws {
        var statistics = ReceptionStatistics(clockRate: 90_000)
        let now = Instant.seconds(10)
        expect(statistics.takeReport(of: 1, at: now) == nil)
        for number in [65_533, 65_534, 65_535, 1, 2, 3, 5] as [UInt16] {
            statistics.notePacket(header(number), at: now)
        }
        let told = statistics.takeReport(of: 1, at: now)
        let first = try #require(told)
        #expect(first.highestSequenceNumber == 0x1_0005)
        #expect(first.cumulativeLost == 2)
        #expect(first.fractionLost == 2 * 256 / 9)
        // What came late takes a loss back; what came twice counts as less than none.
        for number in [4, 6, 6, 6] as [UInt16] { statistics.notePacket(header(number), at: now) }
        let toldAgain = statistics.takeReport(of: 1, at: now)
        let second = try #require(toldAgain)
        #expect(second.cumulativeLost == -1)
        #expect(second.fractionLost == 0)
        #expect(second.lastSenderReport == 0)
    }

    /// RFC 3550 §A.8: each difference counts for a sixteenth.
    @Test func jitter() throws {
        var statistics = ReceptionStatistics(clockRate: 90_000)
        let now = Instant.seconds(10)
        statistics.notePacket(header(1, 0), at: now)
        // 10 ms later, and sent 20 ms later: 10 ms too early, 900 ticks.
        statistics.notePacket(header(2, 1800), at: now + .milliseconds(10))
        let told = statistics.takeReport(of: 1, at: now)
        #expect(told?.jitter == UInt32(900 / 16))
    }

    @Test func aSenderReportIsAnswered() throws {
        var statistics = ReceptionStatistics(clockRate: 90_000)
        let now = Instant.seconds(10)
        statistics.notePacket(header(1), at: now)
        let time = NTPTime(rawValue: 0x1111_2222_3333_4444)
        statistics.noteReport(
            SenderReport(ssrc: 1, ntpTime: time, rtpTimestamp: 0, packetCount: 1, octetCount: 1),
            at: now
        )
        let told = statistics.takeReport(of: 1, at: now + .milliseconds(500))
        let block = try #require(told)
        #expect(block.lastSenderReport == 0x2222_3333)
        #expect(block.delaySinceLastSenderReport == 32768)
    }

    /// What is written is what the parser reads.
    @Test func packetsAreReadAsTheyWereWritten() throws {
        let block = ReportBlock(
            ssrc: 7,
            fractionLost: 200,
            cumulativeLost: -5,
            highestSequenceNumber: 0x2_0003,
            jitter: 9,
            lastSenderReport: 10,
            delaySinceLastSenderReport: 11
        )
        var bytes: [UInt8] = []
        let report = ReceiverReport(ssrc: 3, reports: [block, block])
        report.write(to: &bytes)
        let nack = GenericNACK(sender: 3, media: 7, lost: [65_530, 65_531, 65_535, 2, 10, 11, 27, 44])
        nack.write(to: &bytes)
        let loss = PictureLossIndication(sender: 3, media: 7)
        loss.write(to: &bytes)
        #expect(
            try RTCPPacket.parse(bytes) == [.receiverReport(report), .genericNACK(nack), .pictureLoss(loss)]
        )
    }

    /// At random: runs of any length, small, large and negative steps, over the wrap of the clock.
    @Test func feedbackOnArrivalsIsReadAsItWasWritten() throws {
        var random = SplitMix(seed: 4)
        for _ in 0..<300 {
            var time = UInt32.random(in: 0 ... .max, using: &random)
            var arrivals: [UInt32?] = []
            for _ in 0..<Int.random(in: 1...60, using: &random) {
                let isLost = Bool.random(using: &random)
                for _ in 0..<Int.random(in: 1...12, using: &random) {
                    let step = Int32.random(in: Bool.random(using: &random) ? 0...255 : -32768...32767, using: &random)
                    if !isLost {
                        #expect(TransportFeedback.canTell(time &+ UInt32(bitPattern: step), after: time))
                        time &+= UInt32(bitPattern: step)
                    }
                    arrivals.append(isLost ? nil : time)
                }
            }
            guard arrivals.contains(where: { $0 != nil }) else { continue }
            let feedback = TransportFeedback(sender: 1, media: 2, number: 3, first: 65_500, times: arrivals)
            var bytes: [UInt8] = []
            feedback.write(to: &bytes)
            #expect(bytes.count % 4 == 0)
            #expect(try RTCPPacket.parse(bytes) == [.transportFeedback(feedback)])
        }
    }

    /// Each packet is told once, late ones too; and no report is longer than a datagram.
    @Test func allArrivalsAreTold() throws {
        var random = SplitMix(seed: 5)
        var arrivals = TransportArrivals()
        var now = Instant.seconds(50)
        var (came, told): (Set<UInt16>, [UInt16: Bool]) = ([], [:])
        for number in 65_000..<68_000 {
            now += .microseconds(Int.random(in: 0...3000, using: &random))
            for late in [number, number - 20] where Bool.random(using: &random) {
                let number = UInt16(truncatingIfNeeded: late)
                came.insert(number)
                arrivals.noteArrival(of: number, at: now)
            }
            while let report = arrivals.takeReport(from: 1, on: 2, at: now) {
                var bytes: [UInt8] = []
                report.write(to: &bytes)
                #expect(bytes.count < 600)
                for (place, time) in report.times.enumerated() where time != nil {
                    told[report.first &+ UInt16(place)] = true
                }
            }
            if let deadline = arrivals.nextDeadline { expect(deadline > now) }
        }
        now += .seconds(1)
        while let report = arrivals.takeReport(from: 1, on: 2, at: now) {
            for (place, time) in report.times.enumerated() where time != nil {
                told[report.first &+ UInt16(place)] = true
            }
        }
        #expect(Set(told.keys) == came)
    }
}
