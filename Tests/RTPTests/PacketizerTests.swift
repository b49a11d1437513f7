import Media
import Testing

@testable import RTP

/// Sends one picture and returns the payloads: descriptor and share.
func payloads(
    _ picture: [UInt8],
    isKeyframe: Bool,
    _ packetizer: inout VideoPacketizer
) -> [(bytes: [UInt8], isLast: Bool)] {
    let fragments = packetizer.packetize(picture.span, isKeyframe: isKeyframe, dimensions: (1280, 720))
    var result: [(bytes: [UInt8], isLast: Bool)] = []
    for fragment in fragments {
        var payload: [UInt8] = []
        fragments.format.write(fragment, of: picture.span, to: &payload)
        #expect(payload.count == fragments.format.size(of: fragment))
        result.append((payload, fragment.isLast))
    }
    #expect(result.count == fragments.count)
    return result
}

/// What RFC 7741 §4.2 says about the octets before the payload, read bit by bit and independently of the writer.
struct ReadVP8: Equatable {
    var start: Bool, nonReference: Bool, partition: UInt8, pictureID: UInt16?, tl0: UInt8?, tid: UInt8?, sync: Bool?
    var keyIndex: UInt8?, rest: [UInt8]

    init(_ bytes: [UInt8]) {
        var rest = bytes[...]
        let first = rest.removeFirst()
        start = first & 0b0001_0000 != 0
        nonReference = first & 0b0010_0000 != 0
        partition = first & 0b111
        #expect(first & 0b0100_1000 == 0, "reserved bits")
        if first & 0b1000_0000 != 0 {
            let flags = rest.removeFirst()
            #expect(flags & 0b1111 == 0, "reserved bits")
            if flags & 0b1000_0000 != 0 {
                let high = rest.removeFirst()
                pictureID = high & 0x80 == 0 ? UInt16(high) : UInt16(high & 0x7F) * 256 + UInt16(rest.removeFirst())
            }
            if flags & 0b0100_0000 != 0 { tl0 = rest.removeFirst() }
            if flags & 0b0011_0000 != 0 {
                let layer = rest.removeFirst()
                if flags & 0b0010_0000 != 0 {
                    tid = layer >> 6
                    sync = layer & 0b0010_0000 != 0
                }
                if flags & 0b0001_0000 != 0 { keyIndex = layer & 0b1_1111 }
            }
        }
        self.rest = Array(rest)
    }
}

/// The same for RFC 9628 §4.2, as far as non-flexible mode without layer indices goes.
struct ReadVP9: Equatable {
    struct Structure: Equatable { var width: Int, height: Int, group: [UInt8] }
    var inter: Bool, begin: Bool, end: Bool, upperReference: Bool, pictureID: UInt16?, structure: Structure?
    var rest: [UInt8]

    init(_ bytes: [UInt8]) {
        var rest = bytes[...]
        func uint16() -> Int { Int(rest.removeFirst()) * 256 + Int(rest.removeFirst()) }
        let first = rest.removeFirst()
        inter = first & 0b0100_0000 != 0
        #expect(first & 0b0011_0000 == 0, "no layer indices, non-flexible")
        begin = first & 0b0000_1000 != 0
        end = first & 0b0000_0100 != 0
        upperReference = first & 0b0000_0001 == 0
        if first & 0b1000_0000 != 0 {
            let high = rest.removeFirst()
            pictureID = high & 0x80 == 0 ? UInt16(high) : UInt16(high & 0x7F) * 256 + UInt16(rest.removeFirst())
        }
        if first & 0b0000_0010 != 0 {
            let flags = rest.removeFirst()
            #expect(flags & 0b111 == 0, "reserved bits")
            #expect(flags >> 5 == 0, "one spatial layer")
            #expect(flags & 0b1_1000 == 0b1_1000, "dimensions and picture group")
            let width = uint16()
            let height = uint16()
            let group = [rest.removeFirst(), rest.removeFirst(), rest.removeFirst()]
            structure = Structure(width: width, height: height, group: group)
        }
        self.rest = Array(rest)
    }
}

@Suite struct PacketizerTests {
    @Test func vp8DescriptorMatchesTheRFC() {
        var packetizer = VideoPacketizer(codec: .vp8, pictureID: 0x1234, baseLayerIndex: 0x56)
        let sent = payloads([0xAA], isKeyframe: true, &packetizer)
        #expect(sent.count == 1)
        #expect(
            sent[0].bytes == [
                0b1001_0000,  // X, S, partition 0
                0b1110_0000,  // I, L, T
                0x92, 0x34,  // M and the picture ID
                0x56,  // TL0PICIDX
                0x00,  // TID 0, no layer sync
                0xAA,
            ]
        )
    }

    @Test func vp9KeyframeDescriptorMatchesTheRFC() {
        var packetizer = VideoPacketizer(codec: .vp9, pictureID: 0x1234)
        let sent = payloads([0xAA], isKeyframe: true, &packetizer)
        #expect(
            sent[0].bytes == [
                0b1000_1110,  // I, B, E, V
                0x92, 0x34,  // M and the picture ID
                0b0001_1000,  // N_S 0, Y, G
                0x05, 0x00, 0x02, 0xD0,  // 1280 x 720
                0x01,  // a group of one picture:
                0b0000_0100,  // TID 0, one reference,
                0x01,  // the picture before
                0xAA,
            ]
        )
        expect(payloads([0xBB], isKeyframe: false, &packetizer)[0].bytes == [0b1100_1100, 0x92, 0x35, 0xBB])
    }

    /// Sizes around multiples of what one packet holds, and random ones.
    static let sizes: [Int] = {
        var random = SplitMix64(seed: 7)
        let edges = [1182, 1177, 1185].flatMap { room in
            [1, 2, 7].flatMap { count in (-2...2).map { room * count + $0 } }
        }
        return [1, 2, 3] + edges + (0..<60).map { _ in Int.random(in: 1...6000, using: &random) }
    }()

    @Test(arguments: [VideoCodec.vp8, .vp9], [1200, 64])
    func reassemblesToTheSameBytes(codec: VideoCodec, maximum: Int) {
        var packetizer = VideoPacketizer(codec: codec, maximumPacketSize: maximum, pictureID: 32_700)
        for (index, size) in Self.sizes.enumerated() {
            let picture = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ index) }
            let isKeyframe = index % 3 == 0
            let sent = payloads(picture, isKeyframe: isKeyframe, &packetizer)
            var rebuilt: [UInt8] = []
            var lengths: [Int] = []
            for (position, payload) in sent.enumerated() {
                let isFirst = position == 0
                let isLast = position == sent.count - 1
                #expect(payload.isLast == isLast)
                #expect(RTPHeader.size + payload.bytes.count <= maximum)
                let share: [UInt8]
                switch codec {
                case .vp8:
                    let read = ReadVP8(payload.bytes)
                    #expect(read.start == isFirst && read.partition == 0 && !read.nonReference)
                    #expect(read.pictureID == UInt16((32_700 + index) % 32_768))
                    #expect(read.tl0 == UInt8(index % 256) && read.tid == 0 && read.sync == false)
                    #expect(read.keyIndex == nil)
                    share = read.rest
                case .vp9:
                    let read = ReadVP9(payload.bytes)
                    #expect(read.begin == isFirst && read.end == isLast && read.inter == !isKeyframe)
                    #expect(read.pictureID == UInt16((32_700 + index) % 32_768) && read.upperReference)
                    let structure = ReadVP9.Structure(width: 1280, height: 720, group: [1, 0b100, 1])
                    #expect(read.structure == (isKeyframe && isFirst ? structure : nil))
                    share = read.rest
                case .av1: return
                }
                rebuilt += share
                lengths.append(share.count)
            }
            #expect(rebuilt == picture)
            #expect(lengths.max()! - lengths.min()! <= 1)
        }
    }

    @Test func exactlyFullPacketStaysOne() {
        var packetizer = VideoPacketizer(codec: .vp8, pictureID: 0)
        let room = 1200 - 12 - 6
        func count(_ size: Int) -> Int {
            packetizer.packetize([UInt8](repeating: 1, count: size).span, isKeyframe: false, dimensions: (2, 2)).count
        }
        expect(count(room) == 1)
        expect(count(room + 1) == 2)
    }

    @Test(arguments: [VideoCodec.vp8, .vp9])
    func pictureIDWrapsAfter32767(codec: VideoCodec) {
        var packetizer = VideoPacketizer(codec: codec, pictureID: 32_767, baseLayerIndex: 255)
        expect(payloads([1], isKeyframe: false, &packetizer)[0].bytes.contains([0xFF, 0xFF]))
        let next = payloads([1], isKeyframe: false, &packetizer)[0].bytes
        switch codec {
        case .vp8: #expect(ReadVP8(next).pictureID == 0 && ReadVP8(next).tl0 == 0)
        case .vp9: #expect(ReadVP9(next).pictureID == 0)
        case .av1: break
        }
    }
}
