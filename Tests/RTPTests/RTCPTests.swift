import TestSupport
import Testing

@testable import RTP

/// Packets as the RFCs lay them out.
enum Golden {
    static let senderReport: [UInt8] = [
        0x81, 200, 0, 12,  // version 2, one block, 13 words
        0xCA, 0xFE, 0, 1,  // the sender
        0x83, 0xAA, 0x7E, 0x80, 0x80, 0, 0, 0,  // NTP time: 1970 and half a second
        0, 0, 0xAF, 0xC8,  // RTP timestamp
        0, 0, 0, 9,  // packets
        0, 0, 0x10, 0,  // octets
        0, 0, 0, 5, 0x40, 0xFF, 0xFF, 0xFE, 0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 6,  // block
    ]
    static let receiverReport: [UInt8] = [
        0x81, 201, 0, 7,
        0, 0, 0, 1,  // the receiver
        0xCA, 0xFE, 0, 1,  // about this stream
        0x80, 0, 0, 10,  // half of the packets lost, ten in all
        0, 2, 0, 3,  // two wraps, then sequence number 3
        0, 0, 0, 90,  // a millisecond of jitter
        0x7E, 0x80, 0x80, 0,  // middle of the NTP time above
        0, 1, 0, 0,  // a second ago
    ]
    static let sourceDescription: [UInt8] = [
        0x81, 202, 0, 3,
        0xCA, 0xFE, 0, 1,
        1, 2, 0x61, 0x62,  // CNAME "ab"
        0, 0, 0, 0,  // the end, to the next word
    ]
    static let goodbye: [UInt8] = [0x81, 203, 0, 1, 0xCA, 0xFE, 0, 1]
    static let pictureLoss: [UInt8] = [0x81, 206, 0, 2, 0, 0, 0, 1, 0xCA, 0xFE, 0, 1]
    static let fullIntra: [UInt8] = [
        0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0,
        0xCA, 0xFE, 0, 1, 7, 0, 0, 0,  // stream, command 7
    ]
    static let genericNACK: [UInt8] = [
        0x81, 205, 0, 3, 0, 0, 0, 1, 0xCA, 0xFE, 0, 1,
        0xFF, 0xFE, 0x80, 0x03,  // 65534, and the first, second and sixteenth after it
    ]
    static let application: [UInt8] = [0x80, 204, 0, 2, 0, 0, 0, 1, 0x4F, 0x52, 0x49, 0x4C]
    static let all = [
        senderReport, receiverReport, sourceDescription, goodbye, pictureLoss, fullIntra, genericNACK, application,
    ]
}

@Suite struct RTCPTests {
    @Test func writesWhatTheRFCSays() {
        let report = SenderReport(
            ssrc: 0xCAFE_0001,
            ntpTime: NTPTime(unixTime: 500_000_000),
            rtpTimestamp: 45_000,
            packetCount: 9,
            octetCount: 4096
        )
        var bytes: [UInt8] = []
        report.write(to: &bytes)
        #expect(bytes == [0x80, 200, 0, 6] + Golden.senderReport[4..<28], "without a block")
        bytes = []
        RTCPPacket.write(canonicalName: "ab", of: [0xCAFE_0001], to: &bytes)
        #expect(bytes == Golden.sourceDescription)
        bytes = []
        RTCPPacket.write(goodbyeOf: [0xCAFE_0001], to: &bytes)
        #expect(bytes == Golden.goodbye)
    }

    @Test(arguments: 0...260)
    func namesOfEveryLengthAreReadBack(length: Int) throws {
        var bytes: [UInt8] = []
        let name = String(repeating: "n", count: length)
        RTCPPacket.write(canonicalName: name, of: [7, 8], to: &bytes)
        #expect(bytes.count % 4 == 0 && bytes.count / 4 == Int(bytes[2]) << 8 + Int(bytes[3]) + 1)
        let expected = String(name.prefix(255))
        #expect(CanonicalName.all(in: bytes) == [7, 8].map { CanonicalName(ssrc: $0, name: expected) })
    }

    @Test func readsACompound() throws {
        let packets = try RTCPPacket.parse(Golden.all.flatMap { $0 })
        #expect(packets.count == 6, "names and the application packet are skipped")
        guard case .senderReport(let sent) = packets[0], case .receiverReport(let received) = packets[1] else {
            Issue.record("reports come first")
            return
        }
        #expect(sent.octetCount == 4096)
        #expect(sent.reports.first?.cumulativeLost == -2)
        #expect(received.ssrc == 1)
        #expect(
            received.reports == [
                ReportBlock(
                    ssrc: 0xCAFE_0001,
                    fractionLost: 128,
                    cumulativeLost: 10,
                    highestSequenceNumber: 0x2_0003,
                    jitter: 90,
                    lastSenderReport: NTPTime(unixTime: 500_000_000).middle,
                    delaySinceLastSenderReport: 65536
                )
            ]
        )
        #expect(packets[2] == .goodbye([0xCAFE_0001]))
        guard case .pictureLoss(let loss) = packets[3], case .fullIntra(let intra) = packets[4],
            case .genericNACK(let nack) = packets[5]
        else {
            Issue.record("feedback follows")
            return
        }
        #expect(loss.media == 0xCAFE_0001)
        #expect(intra.sender == 1)
        #expect(intra.commands.map(\.ssrc) == [0xCAFE_0001])
        #expect(intra.commands.map(\.sequenceNumber) == [7])
        #expect(nack.lost == [65534, 65535, 0, 14])
    }

    @Test(arguments: Golden.all)
    func readsReducedSize(packet: [UInt8]) throws {
        #expect(try RTCPPacket.parse(packet).count == ([202, 204].contains(packet[1]) ? 0 : 1))
    }

    @Test(arguments: Golden.all)
    func everyCutIsAnError(packet: [UInt8]) {
        for length in 0..<packet.count {
            #expect(throws: MalformedPacket.truncated) { try RTCPPacket.parse(Array(packet[..<length])) }
        }
    }

    @Test func paddingIsRemoved() throws {
        var packet = Golden.goodbye
        packet[0] |= 0x20
        packet[3] += 1
        #expect(try RTCPPacket.parse(packet + [0, 0, 0, 4]) == [.goodbye([0xCAFE_0001])])
        #expect(throws: MalformedPacket.inconsistent) { try RTCPPacket.parse(packet + [0, 0, 0, 0]) }
        #expect(throws: MalformedPacket.truncated) { try RTCPPacket.parse(packet + [0, 0, 0, 200]) }
    }

    @Test func countsBeyondTheLengthAreErrors() {
        for packet in [Golden.senderReport, Golden.receiverReport, Golden.goodbye] {
            var packet = packet
            packet[0] |= 0x1F
            #expect(throws: MalformedPacket.truncated) { try RTCPPacket.parse(packet) }
        }
        var packet = Golden.goodbye
        packet[0] = 0x41
        #expect(throws: MalformedPacket.version) { try RTCPPacket.parse(packet) }
    }

    /// Damaged compounds either parse or throw; a trap would end the test process.
    @Test func damagedInputNeverTraps() {
        var random = SplitMix64(seed: 2026)
        func below(_ limit: Int) -> Int { Int(random.next() >> 32) % limit }
        var parsed = 0
        for _ in 0..<250_000 {
            var bytes = Golden.all[below(Golden.all.count)]
            if below(2) == 0 { bytes += Golden.all[below(Golden.all.count)] }
            for _ in 0...below(4) where !bytes.isEmpty {
                let index = below(bytes.count)
                switch below(4) {
                case 0: bytes[index] = UInt8(below(256))
                case 1: bytes[index] ^= 1 << below(8)
                case 2: bytes.removeLast(below(bytes.count))
                default: bytes.insert(UInt8(below(256)), at: index)
                }
            }
            if (try? RTCPPacket.parse(bytes)) != nil { parsed += 1 }
        }
        #expect(parsed > 0)
    }
}
