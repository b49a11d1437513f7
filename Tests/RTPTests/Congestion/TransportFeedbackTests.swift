import TestSupport
import Testing

@testable import RTP

@Suite struct TransportFeedbackTests {
    /// Seven packets, of which two have not arrived: a vector of two bits each, and deltas of both sizes.
    @Test func aVectorOfTwoBits() throws {
        let feedback = try parse([
            0, 10, 0, 7,  // first, count
            0, 0, 2, 5,  // 128 ms, report 5
            0b1101_0010, 0b0101_0001,  // small, lost, large, small, small, lost, small
            4, 0xFF, 0xFE, 8, 0, 1,
        ])
        #expect(feedback.first == 10)
        #expect(feedback.number == 5)
        #expect(feedback.times == [516, nil, 514, 522, 522, nil, 523])
    }

    @Test func runsAndVectorsOfOneBit() throws {
        let feedback = try parse([
            0xFF, 0xFF, 0, 20,
            0xFF, 0xFF, 0xFF, 0xFF,
            0x20, 3,  // three small deltas
            0x00, 3,  // three lost
            0b1010_0000, 0b0000_0001,  // of fourteen, the first and the last have arrived
            1, 1, 1, 1, 2,
        ])
        let base = 0xFFFF_FF00 as UInt32
        #expect(feedback.first == 0xFFFF)
        #expect(feedback.times.count == 20)
        #expect(feedback.times[0..<6] == [base + 1, base + 2, base + 3, nil, nil, nil])
        #expect(feedback.times[6] == base + 4)
        #expect(feedback.times[7..<19].allSatisfy { $0 == nil })
        #expect(feedback.times[19] == base + 6)
    }

    /// Status 3 is reserved, and a run may be longer than what is left.
    @Test func reservedStatusesHaveNoDelta() throws {
        let feedback = try parse([0, 0, 0, 2, 0, 0, 0, 0, 0x7F, 0xFF])
        #expect(feedback.times == [nil, nil])
    }

    @Test(
        arguments: [
            [], [0, 0, 0, 1], [0, 0, 0, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0, 0, 0x20, 1],
            [0, 0, 0, 1, 0, 0, 0, 0, 0x40, 1, 0], [0, 0, 0xFF, 0xFF, 0, 0, 0, 0, 0x1F, 0xFF],
            [0, 0, 0, 9, 0, 0, 0, 0, 0x00, 0, 0x00, 0],
        ] as [[UInt8]]
    )
    func whatEndsTooEarlyIsRefused(body: [UInt8]) {
        #expect(throws: (any Error).self) { try parse(body) }
    }

    /// A report covers up to 8192 packets, by runs of up to 8191, and as few as none.
    @Test func theLongestAndTheShortestAreRead() throws {
        let longest = try parse([0, 0, 0x20, 0, 0, 0, 0, 0, 0x1F, 0xFF, 0, 1])
        #expect(longest.count == TransportFeedback.limit && longest.arrivals.isEmpty)
        #expect(throws: MalformedPacket.inconsistent) { try parse([0, 0, 0x20, 1, 0, 0, 0, 0, 0x1F, 0xFF, 0, 2]) }
        #expect(try parse([0, 0, 0, 0, 0, 0, 0, 0]).times == [])
    }

    /// What a naive encoder wrote is read again.
    @Test func anythingIsReadAgain() throws {
        var random = SplitMix(seed: 3)
        for _ in 0..<500 {
            var time = UInt32.random(in: 0 ... .max, using: &random) & ~0xFF
            let reference = time
            var statuses: [UInt16] = []
            var deltas: [UInt8] = []
            let arrivals: [UInt32?] = (0..<Int.random(in: 1...200, using: &random)).map { _ in
                switch Int.random(in: 0..<3, using: &random) {
                case 0:
                    statuses.append(0)
                    return nil
                case 1:
                    let delta = UInt8.random(in: 0 ... .max, using: &random)
                    statuses.append(1)
                    deltas.append(delta)
                    time &+= UInt32(delta)
                    return time
                default:
                    let delta = Int16.random(in: .min ... .max, using: &random)
                    statuses.append(2)
                    deltas += [UInt8(truncatingIfNeeded: delta >> 8), UInt8(truncatingIfNeeded: delta)]
                    time &+= UInt32(bitPattern: Int32(delta))
                    return time
                }
            }
            let count = UInt16(statuses.count)
            var body: [UInt8] = [0, 9, UInt8(count >> 8), UInt8(truncatingIfNeeded: count)]
            body += (0..<4).map { UInt8(truncatingIfNeeded: (reference | 77) >> (24 - 8 * $0)) }
            for start in stride(from: 0, to: statuses.count, by: 7) {
                var chunk: UInt16 = 0xC000
                for (place, status) in statuses[start..<min(start + 7, statuses.count)].enumerated() {
                    chunk |= status << (12 - 2 * UInt16(place))
                }
                body += [UInt8(chunk >> 8), UInt8(truncatingIfNeeded: chunk)]
            }
            let feedback = try parse(body + deltas)
            #expect(feedback.times == arrivals)
            #expect(feedback.number == 77)
        }
    }

    @Test func itIsFoundInACompound() throws {
        let report: [UInt8] = [0x80, 201, 0, 1, 0, 0, 0, 1]
        let feedback: [UInt8] = [0x8F, 205, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, 0, 10, 0, 1, 0, 0, 2, 5, 0x20, 1, 4, 0]
        let packets = try RTCPPacket.parse(report + feedback)
        #expect(
            try RTCPPacket.parse(report + feedback, takesTransportFeedback: false) == [packets[0]],
            "where packets have no numbers, it is skipped"
        )
        #expect(
            packets == [
                .receiverReport(ReceiverReport(ssrc: 1, reports: [])),
                .transportFeedback(TransportFeedback(sender: 1, media: 2, number: 5, first: 10, times: [516])),
            ]
        )
    }

    /// 18 bits shifted by up to 63 are no integer of 64 bits.
    @Test(
        arguments: [(0x010B_0005, 786_452), (0x0100_0000, 0), (0x01FF_FFFF, 2.417_842_416_7e24)] as [(UInt32, Double)]
    )
    func anEstimateOfTheReceiverIsRead(fields: UInt32, bitrate: Double) throws {
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: fields >> (24 - 8 * $0)) }
        let header: [UInt8] = [0x8F, 206, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0]
        let packets = try RTCPPacket.parse(header + Array("REMB".utf8) + bytes + [0, 0, 0, 9])
        guard case .maximumBitrate(let read)? = packets.first else { throw MalformedPacket.inconsistent }
        #expect(abs(read - bitrate) <= bitrate * 1e-9)
        #expect(try RTCPPacket.parse(header + Array("AFB!".utf8) + bytes + [0, 0, 0, 9]) == [])
    }

    private func parse(_ body: [UInt8]) throws -> TransportFeedback {
        var reader = ByteReader([0, 0, 0, 1, 0, 0, 0, 2] + body)
        return try TransportFeedback(&reader)
    }
}
