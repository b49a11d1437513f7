/// Names the pictures on which a picture depends, so that a forwarder need not parse the picture (the dependency
/// descriptor of RTP Payload Format For AV1, version 1.0, appendix A).
///
/// One decode target, one chain, and two templates: a keyframe, and a picture that needs the one before.
struct DependencyDescriptor {
    /// Bytes of a descriptor with the structure.
    static let longest = 13

    let isFirst: Bool
    let isLast: Bool
    /// Rises by one with each picture, and wraps.
    let frameNumber: UInt16
    let isKeyframe: Bool
    /// Width and height in pixels if the structure is sent, as with the first packet of a keyframe; nil otherwise.
    let structure: (width: UInt16, height: UInt16)?

    func write(to bytes: inout [UInt8]) {
        let template: UInt8 = isKeyframe ? 0 : 1
        bytes.append((isFirst ? 0x80 : 0) | (isLast ? 0x40 : 0) | template)
        bytes.append(bigEndian: frameNumber)
        guard let structure else { return }
        var bits: UInt128 = 0
        var count = 0
        func put(_ value: some UnsignedInteger, bits width: Int) {
            bits = bits << width | UInt128(value)
            count += width
        }
        // Flags: a structure, and no active targets, custom DTIs, frame or chain differences.
        put(0b10000 as UInt8, bits: 5)
        // template_id_offset and dt_cnt_minus_one.
        put(0 as UInt8, bits: 6 + 5)
        // next_layer_idc: the second template is of the same layer; the end.
        put(0b00_11 as UInt8, bits: 4)
        // template_dti: switch, both.
        put(0b10_10 as UInt8, bits: 4)
        // Frame differences: none; one, of 1.
        put(0b0_1_0000_0 as UInt8, bits: 7)
        // chain_cnt, then chain differences: 0 and 1.
        put(0b1_0000_0001 as UInt16, bits: 9)
        // resolutions_present_flag, max_render_width_minus_1, max_render_height_minus_1.
        put(1 as UInt8, bits: 1)
        put(structure.width - 1, bits: 16)
        put(structure.height - 1, bits: 16)
        let length = Self.longest - 3
        bits <<= length * 8 - count
        for index in (0..<length).reversed() { bytes.append(UInt8(truncatingIfNeeded: bits >> (index * 8))) }
    }
}
