import Media
import Testing

@testable import RTP

/// Payloads as the specifications draw them, written by hand.
@Suite struct PayloadTests {
    /// RFC 7741 §4.2: the descriptor may be one byte or six.
    @Test(
        arguments: [
            ([0x10, 0x00, 7], true, true, 1), ([0x10, 0x01, 7], true, false, 1),
            ([0x00, 0x00, 7], false, false, 1),
            // The second partition.
            ([0x11, 0x00, 7], false, false, 1),
            // A picture number of seven bits; of fifteen; with all fields.
            ([0x90, 0x80, 0x11, 0x00], true, true, 3), ([0x90, 0x80, 0x81, 0x11, 0x00], true, true, 4),
            ([0x90, 0xF0, 0x81, 0x11, 0x22, 0x33, 0x00], true, true, 6),
            // Without the picture number, with an index of layers and of keys.
            ([0xB0, 0x40, 0x22, 0x01], true, false, 3), ([0x90, 0x10, 0x22, 0x01], true, false, 3),
        ] as [([UInt8], Bool, Bool, Int)]
    )
    func vp8(bytes: [UInt8], isFirst: Bool, isKeyframe: Bool, size: Int) throws {
        let part = try FramePart(vp8: bytes[...])
        #expect(part.isFirst == isFirst)
        #expect(part.isKeyframe == isKeyframe)
        #expect(Array(part.bytes) == Array(bytes[size...]))
    }

    /// RFC 9628 §4.2, in both modes, with and without layers and structure.
    @Test(
        arguments: [
            ([0x08, 9], true, true, 1), ([0x48, 9], true, false, 1), ([0x00, 9], false, false, 1),
            ([0x88, 0x11, 9], true, true, 2), ([0x88, 0x81, 0x11, 9], true, true, 3),
            // Layers: with TL0PICIDX; flexible without; of the second one in space.
            ([0x28, 0x00, 0x55, 9], true, true, 3), ([0x38, 0x00, 9], true, true, 2),
            ([0x38, 0x02, 9], false, false, 2),
            // Flexible: one and three references.
            ([0x58, 0x02, 9], true, false, 2), ([0x58, 0x03, 0x05, 0x06, 9], true, false, 4),
            // A structure of one layer with its size and a group of one; of two layers without either.
            ([0x0A, 0x18, 5, 0, 2, 0xD0, 1, 0x04, 1, 9], true, true, 9), ([0x0A, 0x20, 9], true, true, 2),
        ] as [([UInt8], Bool, Bool, Int)]
    )
    func vp9(bytes: [UInt8], isFirst: Bool, isKeyframe: Bool, size: Int) throws {
        let part = try FramePart(vp9: bytes[...])
        #expect(part.isFirst == isFirst)
        #expect(part.isKeyframe == isKeyframe)
        #expect(Array(part.bytes) == Array(bytes[size...]))
    }

    /// A decoder of VP9 finds the frames of layers by the index of a superframe.
    @Test func layersOfVP9AreASuperframe() throws {
        var assembly = FrameAssembly(codec: .vp9, timestamp: 0)
        for payload in [[0x28, 0x00, 0x55, 9], [0x28, 0x02, 0x55, 7], [0x20, 0x02, 0x55, 8]] as [[UInt8]] {
            try assembly.append(payload[...])
        }
        #expect(assembly.finish()?.bytes == [9, 7, 8, 0xD9, 1, 0, 0, 0, 2, 0, 0, 0, 0xD9])
    }

    @Test func whatEndsTooEarlyIsMalformed() {
        for bytes in [[], [0x10], [0x90, 0x80], [0x90, 0x80, 0x81], [0x90, 0x40]] as [[UInt8]] {
            #expect(throws: MalformedPacket.truncated) { try FramePart(vp8: bytes[...]) }
        }
        for bytes in [[], [0x08], [0x88, 0x81], [0x28, 0], [0x0A, 0x18, 1], [0x0A, 0x08, 2, 0x0C]] as [[UInt8]] {
            #expect(throws: MalformedPacket.truncated) { try FramePart(vp9: bytes[...]) }
        }
        // Four references.
        #expect(throws: MalformedPacket.inconsistent) { try FramePart(vp9: [0x58, 3, 3, 3, 2, 9][...]) }
    }

    /// RTP Payload Format For AV1 §4.4: with and without lengths, and an OBU over three packets.
    @Test func av1() throws {
        func unit(_ payloads: [UInt8]...) throws(MalformedPacket) -> [UInt8]? {
            var assembly = FrameAssembly(codec: .av1, timestamp: 0)
            for payload in payloads { try assembly.append(payload[...]) }
            return assembly.finish()?.bytes
        }
        // W = 1: a frame of two bytes.
        #expect(try unit([0x18, 0x30, 7, 8]) == [0x12, 0, 0x32, 2, 7, 8])
        // W = 2, the first with its length.
        #expect(try unit([0x28, 2, 0x08, 5, 0x30, 7]) == [0x12, 0, 0x0A, 1, 5, 0x32, 1, 7])
        // W = 0: each has a length. The second has an extension header.
        #expect(try unit([0x00, 2, 0x08, 5, 3, 0x34, 9, 7]) == [0x12, 0, 0x0A, 1, 5, 0x36, 9, 1, 7])
        // Y, then Z and Y, then Z.
        #expect(try unit([0x50, 0x30, 1], [0xD0, 2], [0x90, 3]) == [0x12, 0, 0x32, 3, 1, 2, 3])
        // One that has its size already.
        #expect(try unit([0x10, 0x32, 1, 7]) == [0x12, 0, 0x32, 1, 7])
        // Open at the end.
        #expect(try unit([0x50, 0x30, 1]) == nil)
        for payloads in [[[0x90, 1]], [[0x50, 0x30], [0x10, 0x30]]] as [[[UInt8]]] {
            #expect(throws: MalformedPacket.inconsistent) {
                var assembly = FrameAssembly(codec: .av1, timestamp: 0)
                for payload in payloads { try assembly.append(payload[...]) }
            }
        }
        for payload in [[], [0x10], [0x20, 5, 1], [0x00, 0x80], [0x10, 0x34]] as [[UInt8]] {
            #expect(throws: MalformedPacket.truncated) { try unit(payload) }
        }
    }

    /// RFC 3550 §5.1, RFC 8285 §4.2: contributing sources, extensions and padding.
    @Test func aPacketWithAllThatItMayHave() throws {
        let bytes: [UInt8] = [
            0xB1, 0xE0, 0x12, 0x34, 0, 0, 0, 1, 0, 0, 0, 2,  // padding, extension, one source; marker, 96
            9, 9, 9, 9,
            0xBE, 0xDE, 0, 2, 0x10, 0x76, 0, 0x21, 0xAB, 0xCD, 0, 0,  // "v", padding, a number
            7, 8, 0, 2,
        ]
        let packet = try IncomingPacket(bytes, HeaderExtensions(mid: 1, transportNumber: 2))
        #expect(
            packet.header
                == RTPHeader(marker: true, payloadType: 96, sequenceNumber: 0x1234, timestamp: 1, ssrc: 2)
        )
        #expect(packet.mid == "v")
        #expect(packet.transportNumber == 0xABCD)
        #expect(Array(packet.payload) == [7, 8])
        let original = try #require(packet.original(ssrc: 5, payloadType: 97))
        #expect(original.header.sequenceNumber == 0x0708)
        #expect(original.payload.isEmpty)
        for count in 0..<bytes.count - 1 {
            #expect(throws: MalformedPacket.self) { try IncomingPacket(Array(bytes.prefix(count)), HeaderExtensions()) }
        }
        #expect(throws: MalformedPacket.version) { try IncomingPacket([0x40] + bytes.dropFirst(), HeaderExtensions()) }
    }
}
