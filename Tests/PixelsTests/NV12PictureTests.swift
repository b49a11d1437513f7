import Glibc
import Pixels
import Testing

struct NV12PictureTests {
    @Test func beginsBlack() {
        let picture = NV12Picture(size: PixelSize(width: 70, height: 6))
        picture.withPlanes { luma, chroma in
            luma.withUnsafeBytes { #expect($0.allSatisfy { $0 == 16 } && Int(bitPattern: $0.baseAddress) % 64 == 0) }
            chroma.withUnsafeBytes { #expect($0.allSatisfy { $0 == 128 } && Int(bitPattern: $0.baseAddress) % 64 == 0) }
        }
    }

    /// Black, white and the primaries through both directions.
    @Test(
        arguments: [
            [0, 0, 0], [255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255], [128, 128, 128], [200, 30, 90],
        ] as [[UInt8]]
    )
    func becomesRGBAgain(rgb: [UInt8]) {
        let size = PixelSize(width: 18, height: 4)
        let pixel = [rgb[2], rgb[1], rgb[0], 0]
        let source = (0..<4 * size.width * size.height).map { pixel[$0 % 4] }
        let layout = NV12Layout(size: size)
        let planes = convert(source, stride: 4 * size.width, size: size, layout: layout)
        let result = rgbBytes(luma: planes.luma.span.bytes, chroma: planes.chroma.span.bytes, layout: layout)
        #expect(result.count == 3 * size.width * size.height)
        #expect(result.enumerated().allSatisfy { abs(Int($1) - Int(rgb[$0 % 3])) <= 2 })
    }

    /// All of what is copied, padding left out, and nothing beside it; the first rows, the last ones and all.
    @Test(arguments: [(0..<2, 0), (6..<8, 2), (2..<6, 0), (0..<4, 0), (4..<8, 0)] as [(Range<Int>, Int)])
    func takesOverRows(rows: Range<Int>, row: Int) {
        var source = NV12Picture(size: PixelSize(width: 70, height: 8))
        let layout = source.layout
        source.withMutablePlanes { luma, chroma in
            for y in 0..<8 {
                for x in 0..<70 {
                    luma.storeBytes(of: UInt8(20 * y + x), toByteOffset: layout.lumaOffset(x: x, y: y), as: UInt8.self)
                    if y % 2 == 0 {
                        let offset = layout.chromaOffset(x: x & ~1, y: y) + x % 2
                        chroma.storeBytes(of: UInt8(100 + 10 * y + x), toByteOffset: offset, as: UInt8.self)
                    }
                }
            }
        }
        var target = NV12Picture(size: PixelSize(width: 70, height: 4))
        target.copy(rows: rows, of: source, to: row)
        target.withPlanes { luma, chroma in
            for y in 0..<4 {
                let from = y - row + rows.lowerBound
                let isCopied = rows.contains(from)
                for x in 0..<70 {
                    let seen = luma.unsafeLoad(fromByteOffset: target.layout.lumaOffset(x: x, y: y), as: UInt8.self)
                    #expect(seen == (isCopied ? UInt8(20 * from + x) : 16))
                    let offset = target.layout.chromaOffset(x: x & ~1, y: y & ~1) + x % 2
                    let pair = chroma.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
                    #expect(pair == (isCopied ? UInt8(100 + 10 * (from & ~1) + x) : 128))
                }
            }
        }
    }

    /// One pixel of a thousand that is 100 off, and none.
    @Test func theNoiseOfAPictureIsMeasured() {
        var picture = NV12Picture(size: PixelSize(width: 50, height: 20))
        var other = PlanarPicture()
        other.copy(picture)
        #expect(picture.lumaPSNR(of: other) == 99)
        let offset = picture.layout.lumaOffset(x: 49, y: 19)
        picture.withMutablePlanes { luma, _ in luma.storeBytes(of: 116, toByteOffset: offset, as: UInt8.self) }
        // 100² over 1000 pixels is a mean of 10.
        #expect(abs(picture.lumaPSNR(of: other) - 10 * log10(255 * 255 / 10)) < 1e-9)
    }
}
