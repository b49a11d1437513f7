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
}
