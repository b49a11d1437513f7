/// A payload of VP8 or VP9 without its descriptor: a part of a frame.
struct FramePart: Equatable {
    /// Whether it begins a frame.
    let isFirst: Bool
    /// Whether the frame can be decoded alone. Only the first part says so.
    let isKeyframe: Bool
    /// VP9: whether it begins the frame of another spatial layer.
    let beginsLayer: Bool
    let bytes: ArraySlice<UInt8>
}

extension FramePart {
    /// VP8 (RFC 7741 §4.2), with whatever the descriptor tells of layers.
    ///
    /// ```
    ///  0 1 2 3 4 5 6 7
    /// +-+-+-+-+-+-+-+-+
    /// |X|R|N|S|R| PID |  S: begins a partition; PID: which one
    /// |I|L|T|K|  RSV  |  with X
    /// |M| PictureID   |  with I; of 15 bits with M
    /// |   TL0PICIDX   |  with L
    /// |TID|Y| KEYIDX  |  with T or K
    /// +-+-+-+-+-+-+-+-+
    /// ```
    init(vp8 payload: ArraySlice<UInt8>) throws(MalformedPacket) {
        var reader = ByteReader(payload)
        let first = try reader.byte()
        if first & 0x80 != 0 {
            let optional = try reader.byte()
            if optional & 0x80 != 0, try reader.byte() & 0x80 != 0 { try reader.skip(1) }
            if optional & 0x40 != 0 { try reader.skip(1) }
            if optional & 0x30 != 0 { try reader.skip(1) }
        }
        isFirst = first & 0x17 == 0x10
        bytes = try reader.rest(reader.count)
        guard let start = bytes.first else { throw .truncated }
        // The lowest bit of the frame tag is 0 in a keyframe (RFC 6386 §9.1).
        isKeyframe = isFirst && start & 1 == 0
        beginsLayer = false
    }

    /// VP9 (RFC 9628 §4.2) in both modes. Layers in space follow each other as one frame.
    ///
    /// ```
    ///  0 1 2 3 4 5 6 7
    /// +-+-+-+-+-+-+-+-+
    /// |I|P|L|F|B|E|V|Z|  P: needs other frames; B: begins the frame of a layer
    /// |M| PICTURE ID  |  with I; of 15 bits with M
    /// | TID |U| SID |D|  with L; SID: the layer in space
    /// |   TL0PICIDX   |  with L and without F
    /// |   P_DIFF    |N|  with F and P; up to three, another one with N
    /// |      SS       |  with V
    /// +-+-+-+-+-+-+-+-+
    /// ```
    init(vp9 payload: ArraySlice<UInt8>) throws(MalformedPacket) {
        var reader = ByteReader(payload)
        var layer: UInt8 = 0
        let first = try reader.byte()
        let (isInter, isFlexible) = (first & 0x40 != 0, first & 0x10 != 0)
        if first & 0x80 != 0, try reader.byte() & 0x80 != 0 { try reader.skip(1) }
        if first & 0x20 != 0 {
            layer = try reader.byte() >> 1 & 7
            if !isFlexible { try reader.skip(1) }
        }
        if isFlexible, isInter {
            var count = 1
            while try reader.byte() & 1 != 0 {
                count += 1
                guard count <= 3 else { throw .inconsistent }
            }
        }
        if first & 0x02 != 0 { try Self.skipStructure(&reader) }
        bytes = try reader.rest(reader.count)
        guard !bytes.isEmpty else { throw .truncated }
        isFirst = first & 0x08 != 0 && layer == 0
        isKeyframe = isFirst && first & 0x40 == 0
        beginsLayer = first & 0x08 != 0 && layer != 0
    }

    /// The scalability structure (RFC 9628 §4.2.1): `| N_S |Y|G|-|-|-|`, with Y the sizes of all layers, with G a group of
    /// pictures, each with the count of its references in two bits.
    private static func skipStructure(_ reader: inout ByteReader) throws(MalformedPacket) {
        let head = try reader.byte()
        if head & 0x10 != 0 { try reader.skip(4 * (Int(head >> 5) + 1)) }
        guard head & 0x08 != 0 else { return }
        for _ in 0..<(try reader.byte()) { try reader.skip(Int(try reader.byte() >> 2 & 3)) }
    }
}
