import Pixels
import TestSupport
import Testing

@Suite struct ToneTests {
    /// All values, and parts of a picture at each even place.
    @Test(arguments: Tone.scales) func isACurveAndAFactor(scale: Int) {
        let tone = Tone(scale: scale)
        let size = PixelSize(width: 258, height: 6)
        for region in [
            PixelRect(size), PixelRect(x: 2, y: 2, width: 254, height: 2), PixelRect(x: 0, y: 4, width: 34, height: 2),
        ] {
            var picture = NV12Picture(size: size)
            fill(&picture)
            picture.apply(tone, to: region)
            picture.withPlanes { luma, chroma in
                for y in 0..<size.height {
                    for x in 0..<size.width {
                        let isIn = region.columns.contains(x) && region.rows.contains(y)
                        let seen = luma.unsafeLoad(
                            fromByteOffset: picture.layout.lumaOffset(x: x, y: y),
                            as: UInt8.self
                        )
                        let was = Self.value(x)
                        #expect(Int(seen) == (isIn ? naiveLuma(was, scale) : was), "\(x), \(y)")
                        if y % 2 == 1 { continue }
                        let place = picture.layout.chromaOffset(x: x & ~1, y: y) + x % 2
                        let colour = chroma.unsafeLoad(fromByteOffset: place, as: UInt8.self)
                        #expect(Int(colour) == (isIn ? naiveChroma(was, scale) : was), "\(x), \(y)")
                    }
                }
            }
        }
    }

    /// Black stays, nothing darker becomes brighter than something brighter, and what was the brightest becomes white.
    @Test(arguments: Tone.scales) func keepsTheOrder(scale: Int) {
        let values = (0...255).map { naiveLuma($0, scale) }
        #expect(values[16] == 16 && values[0] == 16 && values == values.sorted())
        let brightest = 16 + 219 * 32 / scale
        #expect(230...235 ~= values[min(brightest, 235)], "\(values[min(brightest, 235)])")
        // Twice the contrast near black, beside that of all.
        #expect(values[16 + 16 * 32 / scale / 2] - 16 >= 12)
    }

    @Test func aHistogramCountsASample() {
        let size = PixelSize(width: 1282, height: 722)
        var picture = NV12Picture(size: size)
        var random = SplitMix(seed: 5)
        var counts = [UInt32](repeating: 0, count: 256)
        picture.withMutablePlanes { luma, _ in
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let value = UInt8.random(in: 0...255, using: &random)
                    luma.storeBytes(of: value, toByteOffset: y * NV12Layout(size: size).lumaStride + x, as: UInt8.self)
                    if x % 16 == 0, y % 16 == 0 { counts[Int(value)] += 1 }
                }
            }
        }
        let histogram = picture.withPlanes { luma, _ in LumaHistogram(luma: luma, layout: NV12Layout(size: size)) }
        #expect(histogram.counts == counts)
        let total = counts.reduce(0, +)
        let sum = counts.enumerated().reduce(0.0) { $0 + Double($1.offset) * Double($1.element) }
        #expect(abs(histogram.mean - sum / Double(total)) < 1e-9)
        for share in [2, 10, 500, 100_000] {
            let brightest = histogram.brightest(butOneIn: share)
            func above(_ value: Int) -> UInt32 { counts[(value + 1)...].reduce(0, +) }
            #expect(above(brightest) <= total / UInt32(share))
            #expect(brightest == 0 || above(brightest - 1) > total / UInt32(share))
        }
    }

    private static func value(_ x: Int) -> Int { x % 256 }

    private func fill(_ picture: inout NV12Picture) {
        let layout = picture.layout
        picture.withMutablePlanes { luma, chroma in
            for y in 0..<layout.size.height {
                for x in 0..<layout.size.width {
                    let value = UInt8(Self.value(x))
                    luma.storeBytes(of: value, toByteOffset: layout.lumaOffset(x: x, y: y), as: UInt8.self)
                    if y % 2 == 1 { continue }
                    let place = layout.chromaOffset(x: x & ~1, y: y) + x % 2
                    chroma.storeBytes(of: value, toByteOffset: place, as: UInt8.self)
                }
            }
        }
    }
}
