import TestSupport
import Testing
import Time

@testable import RTP

@Suite struct RTPStreamTests {
    @Test func headerMatchesTheRFC() throws {
        let header = RTPHeader(
            marker: true,
            payloadType: 96,
            sequenceNumber: 0x1234,
            timestamp: 0x5678_9ABC,
            ssrc: 0xDEAD_BEEF
        )
        var bytes: [UInt8] = []
        header.write(to: &bytes)
        #expect(bytes == [0x80, 0xE0, 0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xAD, 0xBE, 0xEF])
        let packet = try RTPPacket(parsing: bytes + [1, 2])
        #expect(packet.header == header)
        #expect(packet.payload == [1, 2])
    }

    @Test func parsingSkipsSourcesExtensionAndPadding() throws {
        let bytes: [UInt8] = [
            0xB1, 0x60, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3,  // padding, extension, one source
            9, 9, 9, 9,  // the source
            0xBE, 0xDE, 0, 1, 8, 8, 8, 8,  // an extension of one word
            7, 6, 0, 0, 3,  // payload, and three bytes of padding
        ]
        #expect(try RTPPacket(parsing: bytes).payload == [7, 6])
        for length in 0..<bytes.count - 5 {
            #expect(throws: MalformedRTP.self) { try RTPPacket(parsing: Array(bytes[..<length])) }
        }
    }

    @Test func sequenceNumberWraps() {
        var stream = RTPStream(ssrc: 1, payloadType: 96, sequenceNumber: 0xFFFF, timestampOffset: 0)
        let numbers = (0..<3).map { _ in stream.nextHeader(timestamp: 0, marker: false).sequenceNumber }
        #expect(numbers == [0xFFFF, 0, 1])
    }

    @Test func countsWhatWentOut() {
        var stream = RTPStream(ssrc: 1, payloadType: 96, sequenceNumber: 0, timestampOffset: 0)
        _ = stream.nextHeader(timestamp: 0, marker: false)
        #expect(stream.packetCount == 0)
        for size in [10, 20] { stream.notePacketSent(payloadSize: size) }
        #expect(stream.packetCount == 2)
        #expect(stream.octetCount == 30)
    }

    @Test func timestampsFollowTheCaptureClock() {
        let stream = RTPStream(ssrc: 1, payloadType: 96, sequenceNumber: 0, timestampOffset: 0xFFFF_FFFF)
        func timestamp(_ instant: Instant) -> UInt32 {
            stream.header(sequenceNumber: 0, ticks: RTPStream.ticks(instant, 90_000), marker: false).timestamp
        }
        #expect(timestamp(.start) == 0xFFFF_FFFF)
        #expect(timestamp(.seconds(1)) == 89_999)
        #expect(timestamp(.seconds(2.5)) == 224_999)
        // A day and a bit on, wrapped twice.
        #expect(timestamp(.seconds(100_000)) == UInt32(truncatingIfNeeded: 100_000 * 90_000 - 1))
        #expect(RTPStream.ticks(.nanoseconds(.max), 90_000) == 18_446_744_073 * 90_000 + 63_859)
    }

    @Test func reportMapsTheCaptureTimeline() {
        // 2026-01-01 00:00:00 UTC is 1767225600 s after 1970 and 3976214400 s after 1900.
        let clock = ClockReading(monotonic: .seconds(10), wall: 1_767_225_600_000_000_000)
        let stream = RTPStream(ssrc: 0xCAFE, payloadType: 96, sequenceNumber: 0, timestampOffset: 1000)
        let captured: UInt32 = 1000 + 900_000
        let report = stream.senderReport(at: .seconds(10.5), clock: clock)
        #expect(report.ntpTime.rawValue == UInt64(3_976_214_400) << 32 | 0x8000_0000)
        #expect(report.rtpTimestamp == captured + 45_000)
        #expect(report.ntpTime.middle == UInt32(3_976_214_400 & 0xFFFF) << 16 | 0x8000)
    }

    @Test func startsAtRandom() {
        var random = SplitMix64(seed: 3)
        let first = RTPStream(payloadType: 96, using: &random)
        let second = RTPStream(payloadType: 96, using: &random)
        #expect(first.ssrc != second.ssrc)
        #expect(first.nextSequenceNumber != second.nextSequenceNumber)
        let names = (0..<2).map { _ in randomName(digits: 24, using: &random) }
        #expect(names[0] != names[1])
        #expect(names[0].utf8.count == 24)
    }

    @Test func reportsAreSpreadAroundTheInterval() throws {
        var schedule = ReportSchedule(seed: 1)
        #expect(schedule.nextDeadline == nil && !schedule.isDue(at: .nanoseconds(.max)))
        // With the first packet, and not again with the next.
        for second in 3...4 { schedule.packetSent(at: .seconds(Double(second))) }
        #expect(schedule.nextDeadline == .seconds(3))
        #expect(schedule.isDue(at: .seconds(3)) && !schedule.isDue(at: .milliseconds(2999)))
        var waits: [Double] = []
        for _ in 0..<1000 {
            schedule.reportSent(at: .seconds(5))
            waits.append((try #require(schedule.nextDeadline) - .seconds(5) as Duration).seconds)
        }
        #expect(waits.allSatisfy { 0.5...1.5 ~= $0 })
        #expect(waits.min()! < 0.6)
        #expect(waits.max()! > 1.4)
        #expect(0.9...1.1 ~= waits.reduce(0, +) / 1000)
        schedule.reportSent(at: .nanoseconds(.max))
        #expect(schedule.nextDeadline == .nanoseconds(.max))
    }
}
