import Pixels
import TestSupport
import Testing

@Suite struct ScrollDetectorTests {
    private static let size = PixelSize(width: 66, height: 120)
    private static let whole = PixelRect(size)

    /// A picture of rows by their numbers, each of other bytes.
    private func picture(_ row: (Int) -> UInt64) -> NV12Picture {
        var picture = NV12Picture(size: Self.size)
        let layout = picture.layout
        picture.withMutablePlanes { luma, _ in
            for y in 0..<Self.size.height {
                var random = SplitMix(seed: row(y))
                for x in 0..<Self.size.width {
                    let byte = UInt8(truncatingIfNeeded: random.next() >> 32)
                    luma.storeBytes(of: byte, toByteOffset: layout.lumaOffset(x: x, y: y), as: UInt8.self)
                }
            }
        }
        return picture
    }

    /// From a picture with the rows 1000… to another one.
    private func found(
        _ row: (Int) -> UInt64,
        in region: PixelRect = whole,
        within range: ClosedRange<Int> = -60...60
    ) -> Int? {
        var detector = ScrollDetector()
        let old = picture { 1000 + UInt64($0) }
        let new = picture(row)
        return detector.rows(from: old, to: new, in: region, within: range)
    }

    @Test(arguments: [-60, -17, -1, 1, 2, 33, 60]) func scrollingIsFound(rows: Int) {
        #expect(found { UInt64(1000 + $0 + rows) } == rows)
    }

    /// A page that scrolls below a bar that stands still.
    @Test func aPartThatScrollsIsFound() {
        #expect(found { y in UInt64(1000 + (y < 40 ? y : y + 8)) } == 8)
        // The part alone, which begins anywhere.
        let part = PixelRect(x: 7, y: 41, width: 50, height: 70)
        #expect(found({ y in UInt64(1000 + (y < 40 ? y : y - 5)) }, in: part) == -5)
    }

    @Test func whatDoesNotScrollIsNotFound() {
        #expect(found { UInt64(1000 + $0) } == nil, "it stands still")
        #expect(found { UInt64(5000 + $0) } == nil, "it is another one")
        #expect(found({ UInt64(1000 + $0 + 40) }, within: -39...39) == nil, "that is too far")
        // Few rows agree.
        #expect(found { y in UInt64(y < 14 ? 1000 + y + 20 : 5000 + y) } == nil)
        #expect(found { y in UInt64(y < 16 ? 1000 + y + 20 : 5000 + y) } == 20)
    }

    /// Rows that are alike cannot be told apart.
    @Test func equalRowsSayNothing() {
        var detector = ScrollDetector()
        let old = picture { UInt64($0 % 2) }
        let new = picture { UInt64(($0 + 1) % 2) }
        #expect(detector.rows(from: old, to: new, in: Self.whole, within: -60...60) == nil)
    }

    @Test func aSmallRegionSaysNothing() {
        let (small, large) = (
            PixelRect(x: 0, y: 0, width: 66, height: 23), PixelRect(x: 0, y: 0, width: 66, height: 24)
        )
        #expect(found({ UInt64(1000 + $0 + 2) }, in: small) == nil)
        #expect(found({ UInt64(1000 + $0 + 2) }, in: large) == 2)
    }
}
