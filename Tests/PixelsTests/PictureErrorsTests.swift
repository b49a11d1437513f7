import Pixels
import TestSupport
import Testing

@Suite struct PictureErrorsTests {
    /// A sample that is as far off as allowed, or by one more, in either direction, in each component; the last macroblocks are cut
    /// off. The other picture ends where memory does.
    @Test(arguments: [(70, 38), (16, 16), (1040, 18), (2, 2), (128, 50)]) func samplesThatAreTooFarAreFound(
        width: Int,
        height: Int
    ) {
        let size = PixelSize(width: width, height: height)
        var random = SplitMix(seed: UInt64(width))
        for _ in 0..<40 {
            let planes = [width * height, width * height / 4, width * height / 4].map {
                GuardedBytes((0..<$0).map { _ in UInt8.random(in: 40...200, using: &random) })
            }
            func start(_ plane: Int) -> UnsafePointer<UInt8> {
                UnsafePointer(planes[plane].bytes.baseAddress!.assumingMemoryBound(to: UInt8.self))
            }
            let other = PlanarPicture.Source(
                start(0),
                start(1),
                start(2),
                strides: (width, width / 2, width / 2)
            )
            var picture = NV12Picture(size: size)
            picture.copy(other)
            let most = (
                luma: UInt8.random(in: 0...30, using: &random), chroma: UInt8.random(in: 0...30, using: &random)
            )
            var wanted = BlockSet(size, side: BlockSet.macroblock)
            // A macroblock that is in the set stays there.
            wanted.insert(column: 0, row: 0)
            var found = wanted
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                let plane = Int.random(in: 0..<3, using: &random)
                let columns = plane == 0 ? width : width / 2
                let index = planes[plane].bytes.indices.randomElement(using: &random)!
                let (isTooFar, isLess) = (Bool.random(using: &random), Bool.random(using: &random))
                let off = Int(plane == 0 ? most.luma : most.chroma) + (isTooFar ? 1 : 0)
                let (x, y, side) = (index % columns, index / columns, plane == 0 ? 16 : 8)
                let layout = picture.layout
                picture.withMutablePlanes { luma, chroma in
                    let value = UInt8(Int(planes[plane].bytes[index]) + (isLess ? -off : off))
                    if plane == 0 {
                        luma.storeBytes(of: value, toByteOffset: layout.lumaOffset(x: x, y: y), as: UInt8.self)
                    } else {
                        let offset = layout.chromaOffset(x: 2 * x, y: 2 * y) + plane - 1
                        chroma.storeBytes(of: value, toByteOffset: offset, as: UInt8.self)
                    }
                }
                if isTooFar { wanted.insert(column: x / side, row: y / side) }
            }
            withExtendedLifetime(planes) {
                picture.findErrors(of: other, luma: most.luma, chroma: most.chroma, in: &found)
            }
            #expect(found == wanted)
        }
    }
}
