import Media
import Pixels
import TestSupport
import Testing
import VideoEncoding

@testable import Sender

/// The quantizers that a sample asks for, beside what they make of the whole picture.
@Suite struct ContentProbeTests {
    private static let size = PixelSize(width: 1280, height: 720)

    /// Lines of strokes with smooth edges, as letters have.
    private func text(density: UInt64, seed: UInt64) -> NV12Picture {
        var random = SplitMix(seed: seed)
        var picture = NV12Picture(size: Self.size)
        let layout = picture.layout
        picture.withMutablePlanes { luma, _ in
            for y in 0..<layout.size.height {
                let isLine = y % 12 < 9
                for x in 0..<layout.size.width {
                    let isInk = isLine && random.next() % 100 < density
                    luma.storeBytes(
                        of: isInk ? UInt8(60 + random.next() % 170) : 40,
                        toByteOffset: layout.lumaOffset(x: x, y: y),
                        as: UInt8.self
                    )
                }
            }
        }
        return picture
    }

    private func encode(
        _ picture: borrowing NV12Picture,
        _ codec: VideoCodec,
        _ quantizer: Int
    ) throws -> (bytes: Double, quality: Double) {
        var configuration = VideoEncoderConfiguration(codec: codec, size: Self.size, targetBitrate: 2_500_000)
        configuration.allowsPatches = false
        var encoder = try VideoEncoder(configuration)
        let size = try encoder.encode(
            picture,
            presentationTime: .seconds(1),
            forceKeyframe: true,
            quantizers: quantizer...quantizer,
            isThorough: true
        ) { _, data in data.count }
        var decoded = PlanarPicture()
        let hasPicture = encoder.copyReference(into: &decoded)
        #expect(hasPicture)
        return (Double(try #require(size)) / 3600, picture.lumaPSNR(of: decoded))
    }

    /// Of sparse and of dense text, and of a page after another one.
    @Test(arguments: [VideoCodec.vp8, .av1], [1, 3, 8, 20] as [UInt64])
    func aSampleTellsWhatThePageNeeds(codec: VideoCodec, density: UInt64) throws {
        let probe = try #require(ContentProbe(codec, Self.size))
        let coarsest = codec == .vp8 ? 63 : codec.readableQuantizer
        for seed in 1...2 as ClosedRange<UInt64> {
            let picture = text(density: density, seed: seed)
            let found = probe.need(of: picture)
            let need = try #require(found)
            let readable = try encode(picture, codec, need.readable)
            #expect(readable.quality > (codec == .vp8 ? 29.5 : 29) || need.readable == 0, "\(need) \(readable)")
            #expect(readable.quality < 32.5 || need.readable == coarsest, "\(need) \(readable)")
            let clear = try encode(picture, codec, need.clear)
            #expect(clear.quality > 34.5 || need.clear == 0, "\(need) \(clear)")
            #expect(need.clear <= need.readable)
            #expect(0.7...1.4 ~= need.bytes / readable.bytes, "\(need) \(readable)")
        }
    }

    /// The quantizers stay within their range for what has nothing to lose, and for noise.
    @Test(arguments: [(VideoCodec.vp8, 63), (.av1, VideoCodec.av1.readableQuantizer)])
    func theExtremesStayInRange(codec: VideoCodec, coarsest: Int) throws {
        let probe = try #require(ContentProbe(codec, Self.size))
        let black = NV12Picture(size: Self.size)
        let nothing = probe.need(of: black)
        #expect(nothing?.readable == coarsest)
        let picture = text(density: 100, seed: 9)
        let found = probe.need(of: picture)
        let noise = try #require(found)
        #expect(0...63 ~= noise.readable && 0...63 ~= noise.clear && noise.bytes > 0)
    }

    @Test func picturesAreSampledThatAreLargeEnough() {
        #expect(ContentProbe(.vp8, PixelSize(width: 640, height: 254)) == nil)
        #expect(ContentProbe(.vp8, PixelSize(width: 640, height: 256)) != nil)
        #expect(ContentProbe(.av1, PixelSize(width: 640, height: 190)) == nil)
        #expect(ContentProbe(.av1, PixelSize(width: 640, height: 192)) != nil)
        #expect(ContentProbe(.vp9, Self.size) == nil)
    }
}
