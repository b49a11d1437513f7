/// The VP8 payload descriptor (RFC 7741 §4.2) of a reference picture of the only temporal layer.
///
/// ```
///  0 1 2 3 4 5 6 7
/// +-+-+-+-+-+-+-+-+
/// |X|R|N|S|R| PID |  X = 1, N = 0, S on the first packet, PID = 0: the picture is sent as one partition
/// |I|L|T|K|  RSV  |  I = L = 1, and L demands T
/// |M| PictureID   |  M = 1: 15 bits
/// |   PictureID   |
/// |   TL0PICIDX   |
/// |TID|Y| KEYIDX  |  TID = 0, Y = 0: the picture depends on one of an earlier TL0PICIDX
/// +-+-+-+-+-+-+-+-+
/// ```
struct VP8Descriptor: Sendable {
    static let size = 6

    /// 0…32767.
    let pictureID: UInt16
    let baseLayerIndex: UInt8

    func write(isFirst: Bool, to packet: inout [UInt8]) {
        packet.append(isFirst ? 0x90 : 0x80)
        packet.append(0xE0)
        packet.append(bigEndian: 0x8000 | pictureID)
        packet.append(baseLayerIndex)
        packet.append(0)
    }
}

/// The VP9 payload descriptor in non-flexible mode (RFC 9628 §4.2) of a stream with one layer.
///
/// ```
///  0 1 2 3 4 5 6 7
/// +-+-+-+-+-+-+-+-+
/// |I|P|L|F|B|E|V|Z|  I = 1, P unless a keyframe, L = F = 0, B and E at the picture's ends, V on a keyframe's first
/// |M| PICTURE ID  |  M = 1: 15 bits
/// | EXTENDED PID  |
/// | N_S |Y|G|-|-|-|  with V: one spatial layer, Y = G = 1
/// |     WIDTH     |  16 bits
/// |     HEIGHT    |  16 bits
/// |      N_G      |  a picture group of one,
/// | TID |U| R |-|-|  TID = U = 0 and R = 1 reference:
/// |     P_DIFF    |  the picture before
/// +-+-+-+-+-+-+-+-+
/// ```
/// Z, a hint about higher spatial layers, has no meaning with one layer and without a layer index; it stays 0. In
/// non-flexible mode references follow from the picture group, so the scalability structure must hold one.
struct VP9Descriptor: Sendable {
    private static let size = 3
    private static let sizeWithStructure = 11

    /// 0…32767.
    let pictureID: UInt16
    /// Width and height in pixels; nil for an inter picture.
    let keyframe: (width: UInt16, height: UInt16)?

    /// Bytes; more on the first packet of a keyframe than on any other.
    func size(isFirst: Bool) -> Int { isFirst && keyframe != nil ? Self.sizeWithStructure : Self.size }

    func write(isFirst: Bool, isLast: Bool, to packet: inout [UInt8]) {
        let structure = isFirst ? keyframe : nil
        packet.append(
            0x80 | (keyframe == nil ? 0x40 : 0) | (isFirst ? 0x08 : 0) | (isLast ? 0x04 : 0)
                | (structure == nil ? 0 : 0x02)
        )
        packet.append(bigEndian: 0x8000 | pictureID)
        guard let structure else { return }
        packet.append(0x18)
        packet.append(bigEndian: structure.width)
        packet.append(bigEndian: structure.height)
        packet.append(1)
        packet.append(0x04)
        packet.append(1)
    }
}
