import Pixels
import TestSupport
import Testing

struct PixelFormatTests {
    struct Case: Sendable {
        var name: String
        var bits: Int
        var order: PixelFormat.ByteOrder
        var masks: [UInt32]
    }

    static let cases: [Case] = [
        Case(name: "BGRX", bits: 32, order: .littleEndian, masks: [0xff0000, 0xff00, 0xff]),
        Case(name: "RGBX", bits: 32, order: .littleEndian, masks: [0xff, 0xff00, 0xff0000]),
        Case(name: "XRGB", bits: 32, order: .bigEndian, masks: [0xff0000, 0xff00, 0xff]),
        Case(name: "BGRX described backwards", bits: 32, order: .bigEndian, masks: [0xff00, 0xff0000, 0xff00_0000]),
        Case(name: "depth 30", bits: 32, order: .littleEndian, masks: [0x3ff0_0000, 0xffc00, 0x3ff]),
        Case(name: "depth 30, big-endian", bits: 32, order: .bigEndian, masks: [0x3ff0_0000, 0xffc00, 0x3ff]),
        Case(name: "565", bits: 16, order: .littleEndian, masks: [0xf800, 0x7e0, 0x1f]),
        Case(name: "565, big-endian", bits: 16, order: .bigEndian, masks: [0xf800, 0x7e0, 0x1f]),
        Case(name: "555", bits: 16, order: .littleEndian, masks: [0x7c00, 0x3e0, 0x1f]),
        Case(name: "BGR", bits: 24, order: .littleEndian, masks: [0xff0000, 0xff00, 0xff]),
        Case(name: "RGB", bits: 24, order: .bigEndian, masks: [0xff0000, 0xff00, 0xff]),
        Case(name: "one bit of red", bits: 16, order: .littleEndian, masks: [0x8000, 0x6000, 0x1fff]),
    ]

    @Test(arguments: cases)
    func isReadLikeBGRX(_ format: Case) throws {
        let masks = format.masks
        let pixelFormat = try #require(
            PixelFormat(
                bitsPerPixel: format.bits,
                byteOrder: format.order,
                redMask: masks[0],
                greenMask: masks[1],
                blueMask: masks[2]
            )
        )
        let size = PixelSize(width: 37, height: 5)
        let bytes = format.bits / 8
        let stride = size.width * bytes + 3
        var generator = SplitMix(seed: 30)
        let source = generator.bytes(stride * (size.height - 1) + size.width * bytes)

        var bgrx: [UInt8] = []
        for y in 0..<size.height {
            for x in 0..<size.width {
                let start = y * stride + x * bytes
                var pixel = source[start..<start + bytes].map(UInt32.init)
                if format.order == .bigEndian { pixel.reverse() }
                let number = pixel.reversed().reduce(0) { $0 << 8 | $1 }
                bgrx += format.masks.reversed().map { expand(number, $0) } + [0]
            }
        }
        let expected = convert(bgrx, stride: 4 * size.width, size: size)
        #expect(convert(source, stride: stride, size: size, from: pixelFormat) == expected)
    }

    /// Narrow channels repeat their bits, wide ones lose the lowest.
    private func expand(_ pixel: UInt32, _ mask: UInt32) -> UInt8 {
        let bits = mask.nonzeroBitCount
        let value = (pixel & mask) >> mask.trailingZeroBitCount
        var digits = (0..<bits).reversed().map { value >> $0 & 1 }
        while digits.count < 8 { digits += digits }
        return digits.prefix(8).reduce(0) { $0 << 1 | UInt8($1) }
    }

    @Test(
        arguments: [
            (8, [0xe0, 0x1c, 0x3]),  // palette
            (32, [0xff0000, 0xff00, 0]),  // no blue
            (32, [0xff0000, 0xff00, 0x1ff]),  // overlap
            (32, [0xff0000, 0xff00, 0x5]),  // gap
            (16, [0x1f0000, 0x7e0, 0x1f]),  // outside
        ] as [(Int, [UInt32])]
    )
    func isRefused(bits: Int, masks: [UInt32]) {
        let format = PixelFormat(
            bitsPerPixel: bits,
            byteOrder: .littleEndian,
            redMask: masks[0],
            greenMask: masks[1],
            blueMask: masks[2]
        )
        #expect(format == nil)
    }
}
