import Testing

@testable import RTP

/// Reads bits, the most significant first.
private struct BitReader {
    var bits: [UInt8]

    init(_ bytes: [UInt8]) { bits = bytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } } }

    mutating func read(_ count: Int) -> Int {
        defer { bits.removeFirst(count) }
        return bits.prefix(count).reduce(0) { $0 * 2 + Int($1) }
    }

    /// A number below `limit` (appendix A.8.1, ns(n)).
    mutating func read(below limit: Int) -> Int {
        var width = 0
        while limit >> width > 0 { width += 1 }
        let short = (1 << width) - limit
        let value = read(width - 1)
        return value < short ? value : value * 2 - short + read(1)
    }
}

@Suite struct DependencyDescriptorTests {
    private func bytes(_ descriptor: DependencyDescriptor) -> [UInt8] {
        var bytes: [UInt8] = []
        descriptor.write(to: &bytes)
        return bytes
    }

    @Test(arguments: [(true, false), (false, true), (true, true), (false, false)])
    func everyPacketNamesItsPictureAndPlace(isFirst: Bool, isLast: Bool) {
        for isKeyframe in [true, false] {
            let descriptor = DependencyDescriptor(
                isFirst: isFirst,
                isLast: isLast,
                frameNumber: 0xABCD,
                isKeyframe: isKeyframe,
                structure: nil
            )
            let flags: UInt8 = (isFirst ? 0x80 : 0) + (isLast ? 0x40 : 0)
            expect(bytes(descriptor) == [flags + (isKeyframe ? 0 : 1), 0xAB, 0xCD])
        }
    }

    /// Read after the syntax tables of appendix A.8.
    @Test func theStructureIsOneTargetOneChainAndTwoTemplates() {
        let written = bytes(
            DependencyDescriptor(
                isFirst: true,
                isLast: false,
                frameNumber: 7,
                isKeyframe: true,
                structure: (1280, 720)
            )
        )
        #expect(written.count == DependencyDescriptor.longest)
        var reader = BitReader(written)
        expect([reader.read(1), reader.read(1), reader.read(6), reader.read(16)] == [1, 0, 0, 7])
        // A structure and nothing besides.
        expect((0..<5).map { _ in reader.read(1) } == [1, 0, 0, 0, 0])
        // template_id_offset.
        expect(reader.read(6) == 0)
        // dt_cnt_minus_one.
        expect(reader.read(5) == 0)
        // next_layer_idc.
        expect([reader.read(2), reader.read(2)] == [0, 3])
        // Template_dti: switch.
        expect([reader.read(2), reader.read(2)] == [2, 2])
        // A keyframe needs none.
        expect(reader.read(1) == 0)
        // The other needs the one before.
        expect([reader.read(1), reader.read(4), reader.read(1)] == [1, 0, 0])
        // chain_cnt.
        expect(reader.read(below: 2) == 1)
        // decode_target_protected_by.
        expect(reader.read(below: 1) == 0)
        // template_chain_fdiff.
        expect([reader.read(4), reader.read(4)] == [0, 1])
        // resolutions_present_flag.
        expect(reader.read(1) == 1)
        expect([reader.read(16), reader.read(16)] == [1279, 719])
        #expect(reader.bits.count < 8 && reader.bits.allSatisfy { $0 == 0 }, "zero_padding")
    }
}
