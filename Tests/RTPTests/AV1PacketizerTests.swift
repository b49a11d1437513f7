import Media
import Testing

@testable import RTP

/// An OBU as AV1 §5.3 has it, and what it looks like in packets.
private struct OBU {
    var type: UInt8
    var layer: UInt8?
    var payload: [UInt8]
    var hasSize = true

    private func bytes(withSize: Bool) -> [UInt8] {
        var bytes = [type << 3 | (layer == nil ? 0 : 4) | (withSize ? 2 : 0)]
        if let layer { bytes.append(layer) }
        if withSize {
            var rest = payload.count
            repeat {
                bytes.append(UInt8(rest % 128) + (rest >= 128 ? 128 : 0))
                rest /= 128
            } while rest > 0
        }
        return bytes + payload
    }

    var stored: [UInt8] { bytes(withSize: hasSize) }
    var sent: [UInt8] { bytes(withSize: false) }
    var isLeftOut: Bool { [2, 8, 15].contains(type) }
}

/// Reads payloads after §4.4 of the payload format, independently of the writer, and joins what was cut.
private func obus(in payloads: [[UInt8]], isKeyframe: Bool) throws -> [[UInt8]] {
    var obus: [[UInt8]] = []
    var isOpen = false
    for (index, payload) in payloads.enumerated() {
        let header = payload[0]
        #expect((header & 0x80 != 0) == isOpen, "Z")
        #expect((header & 0x08 != 0) == (isKeyframe && index == 0), "N")
        #expect(header & 0x07 == 0, "reserved bits")
        let count = Int(header >> 4 & 3)
        var rest = payload.dropFirst()
        var elements: [[UInt8]] = []
        while !rest.isEmpty {
            var length = rest.count
            if count == 0 || elements.count < count - 1 {
                (length, isOpen) = (0, false)
                var shift = 0
                while true {
                    let next = rest.popFirst()
                    let byte = try #require(next)
                    length += Int(byte & 0x7F) << shift
                    shift += 7
                    if byte & 0x80 == 0 { break }
                }
            }
            try #require(length > 0 && length <= rest.count)
            elements.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        #expect(count == 0 ? elements.count > 3 : elements.count == count, "W")
        if header & 0x80 != 0 { obus[obus.count - 1] += elements.removeFirst() }
        obus += elements
        isOpen = header & 0x40 != 0
    }
    #expect(!isOpen, "Y")
    return obus
}

private func payloads(of unit: [UInt8], isKeyframe: Bool, maximumPacketSize: Int = 1200) -> [[UInt8]] {
    var packetizer = VideoPacketizer(codec: .av1, maximumPacketSize: maximumPacketSize, pictureID: 0)
    let fragments = packetizer.packetize(unit.span, isKeyframe: isKeyframe, dimensions: (1280, 720))
    return fragments.map { fragment in
        var payload: [UInt8] = []
        fragments.format.write(fragment, of: unit.span, to: &payload)
        #expect(payload.count == fragments.format.size(of: fragment))
        return payload
    }
}

@Suite struct AV1PacketizerTests {
    /// Written out by hand: a temporal delimiter, which stays behind, a sequence header and a frame.
    @Test func aKeyframeLooksAsTheDocumentHasIt() {
        let unit: [UInt8] = [0x12, 0x00, 0x0A, 0x03, 0xA1, 0xA2, 0xA3, 0x32, 0x02, 0xB1, 0xB2]
        expect(
            payloads(of: unit, isKeyframe: true) == [
                [
                    0b0010_1000,  // W = 2, N
                    4, 0x08, 0xA1, 0xA2, 0xA3,  // with its length: the sequence header without size field
                    0x30, 0xB1, 0xB2,  // the frame
                ]
            ]
        )
        expect(payloads(of: [0x12, 0x00, 0x32, 0x01, 0xB1], isKeyframe: false) == [[0b0001_0000, 0x30, 0xB1]])
        // The last OBU may come without a size.
        expect(payloads(of: [0x12, 0x00, 0x30, 0xB1], isKeyframe: false) == [[0b0001_0000, 0x30, 0xB1]])
    }

    @Test func aLongFrameGoesOnFromPacketToPacket() {
        let frame = (0..<120).map { UInt8($0) }
        let sent = payloads(of: [0x12, 0, 0x32, 120] + frame, isKeyframe: false, maximumPacketSize: 64)
        // 121 bytes in packets of at most 51.
        #expect(sent.map(\.[0]) == [0b0101_0000, 0b1101_0000, 0b1001_0000])
        #expect(sent.flatMap { $0.dropFirst() } == [0x30] + frame)
    }

    @Test(arguments: 0..<400)
    func whatIsSentIsWhatWasStored(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        let count = [1, 2, 3, 4, 40][seed % 5]
        let sizes = [0...2, 0...60, 0...300, 100...5000]
        var unit = (0..<count).map { _ in
            OBU(
                type: .random(in: 0...15, using: &random),
                layer: Bool.random(using: &random) ? nil : .random(in: 0 ... .max, using: &random),
                payload: (0..<Int.random(in: sizes[seed % 4], using: &random)).map { _ in
                    .random(in: 0 ... .max, using: &random)
                }
            )
        }
        unit[count - 1].hasSize = Bool.random(using: &random)
        let maximum = [64, 200, 1200][seed % 3]
        let isKeyframe = Bool.random(using: &random)
        let sent = payloads(of: unit.flatMap(\.stored), isKeyframe: isKeyframe, maximumPacketSize: maximum)
        for payload in sent { #expect(RTPHeader.size + payload.count <= maximum) }
        #expect(try obus(in: sent, isKeyframe: isKeyframe) == unit.filter { !$0.isLeftOut }.map(\.sent))
    }

    /// What follows a malformed OBU does not go out, and what stands before it does.
    @Test func aMalformedUnitEndsWhereItBreaks() throws {
        let good: [UInt8] = [0x32, 0x01, 0xB1]
        let endings: [[UInt8]] = [
            [0x32, 0x02, 0xB1], [0x32], [0x36, 0], [0x34], [0x32, 0x80], [0x32, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
            [0x32] + [UInt8](repeating: 0x80, count: 9),
        ]
        for ending in endings {
            expect(payloads(of: good + ending, isKeyframe: false) == [[0b0001_0000, 0x30, 0xB1]])
            expect(payloads(of: ending, isKeyframe: false).isEmpty)
        }
        var random = SplitMix64(seed: 1)
        for _ in 0..<2000 {
            let noise = (0..<Int.random(in: 1...200, using: &random)).map { _ in
                UInt8.random(in: 0 ... .max, using: &random)
            }
            for payload in payloads(of: noise, isKeyframe: true, maximumPacketSize: 64) { #expect(payload.count <= 52) }
        }
    }
}
