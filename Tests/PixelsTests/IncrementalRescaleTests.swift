import Pixels
import TestSupport
import Testing

/// A picture that follows a changing one tile by tile is, bit for bit, what a rescale of the whole would give.
struct IncrementalRescaleTests {
    private static let output = PixelSize(width: 320, height: 180)

    @Test(arguments: [
        (480, 270), (480, 264), (640, 360), (320, 180), (320, 176), (1000, 562), (642, 362), (200, 100), (300, 600),
        (66, 2),
        (2, 66), (962, 540), (512, 512), (1920, 36), (128, 64),
    ])
    func followsRandomDamageOverSkippedFrames(width: Int, height: Int) {
        var generator = SplitMix(seed: UInt64(width * 10_000 + height))
        let size = PixelSize(width: width, height: height)
        let rescaler = Rescaler(from: size, to: Self.output)
        var source = NV12Picture(size: size)
        var followed = NV12Picture(size: Self.output)
        rescale(source, by: rescaler, into: &followed)
        for _ in 0..<12 {
            // What changed in up to 50 frames that were not seen, and in this one.
            var changed = BlockSet(size, side: BlockSet.tile)
            for _ in 0...Int.random(in: 0...50, using: &generator) {
                if Int.random(in: 0..<3, using: &generator) > 0 { continue }
                scribble(on: &source, &changed, &generator)
            }
            changed.forEachRectangle { columns, rows in
                let region = rescaler.outputRegion(of: changed.pixels(columns: columns, rows: rows))
                rescale(source, by: rescaler, region: region, into: &followed)
            }
            var whole = NV12Picture(size: Self.output)
            rescale(source, by: rescaler, into: &whole)
            #expect(bytes(followed) == bytes(whole))
        }
    }

    @Test func aPixelReachesNothingBeyondItsRegion() {
        var generator = SplitMix(seed: 1)
        for (width, height) in [(480, 270), (640, 360), (320, 180), (500, 300), (100, 60), (1002, 700)] {
            let size = PixelSize(width: width, height: height)
            let rescaler = Rescaler(from: size, to: Self.output)
            var source = NV12Picture(size: size)
            var before = NV12Picture(size: Self.output)
            rescale(source, by: rescaler, into: &before)
            let spot = PixelRect(
                x: .random(in: 0..<width, using: &generator),
                y: .random(in: 0..<height, using: &generator),
                width: 1,
                height: 1
            )
            set(spot, to: 255, on: &source)
            var after = NV12Picture(size: Self.output)
            rescale(source, by: rescaler, into: &after)
            var changed = BlockSet(Self.output, side: BlockSet.macroblock)
            let region = rescaler.outputRegion(of: spot)
            #expect(region == region.expandedToEven && rescaler.target.contains(region))
            #expect(region.width <= 12 + 2 * 320 * 2 / width && region.height <= 12 + 2 * 180 * 2 / height)
            // Taking only the region over makes both pictures the same.
            before.update(region, from: after, changed: &changed)
            #expect(bytes(before) == bytes(after))
        }
    }

    private func rescale(
        _ source: borrowing NV12Picture,
        by rescaler: Rescaler,
        region: PixelRect? = nil,
        into picture: inout NV12Picture
    ) {
        let layout = source.layout
        source.withPlanes {
            rescaler.rescale(luma: $0, chroma: $1, layout: layout, region: region, into: &picture)
        }
    }

    private func scribble(
        on picture: inout NV12Picture,
        _ changed: inout BlockSet,
        _ generator: inout SplitMix
    ) {
        let size = picture.size
        let x = Int.random(in: 0..<size.width, using: &generator)
        let y = Int.random(in: 0..<size.height, using: &generator)
        let isLarge = Int.random(in: 0..<8, using: &generator) == 0
        let spot = PixelRect(
            x: x,
            y: y,
            width: .random(in: 1...(isLarge ? size.width - x : min(20, size.width - x)), using: &generator),
            height: .random(in: 1...(isLarge ? size.height - y : min(20, size.height - y)), using: &generator)
        )
        set(spot, to: .random(in: 0...255, using: &generator), on: &picture)
        changed.insert(spot.expandedToEven)
    }

    private func set(_ spot: PixelRect, to value: UInt8, on picture: inout NV12Picture) {
        let layout = picture.layout
        let even = spot.expandedToEven
        picture.withMutablePlanes { luma, chroma in
            for y in spot.y..<spot.y + spot.height {
                for x in spot.x..<spot.x + spot.width {
                    let noise = UInt8(truncatingIfNeeded: x &* 31 ^ y &* 17)
                    luma.storeBytes(of: value ^ noise, toByteOffset: layout.lumaOffset(x: x, y: y), as: UInt8.self)
                }
            }
            for y in stride(from: even.y, to: even.y + even.height, by: 2) {
                for x in even.x..<even.x + even.width {
                    let noise = UInt8(truncatingIfNeeded: x &* 13 ^ y &* 7)
                    let offset = layout.chromaOffset(x: x & ~1, y: y) + x % 2
                    chroma.storeBytes(of: value ^ noise, toByteOffset: offset, as: UInt8.self)
                }
            }
        }
    }

    private func bytes(_ picture: borrowing NV12Picture) -> [UInt8] {
        picture.withPlanes { luma, chroma in
            luma.withUnsafeBytes { [UInt8]($0) } + chroma.withUnsafeBytes { [UInt8]($0) }
        }
    }
}
