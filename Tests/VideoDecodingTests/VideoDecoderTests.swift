import Differential
import Media
import Pixels
import TestSupport
import Testing
import Time
import VideoDecoding
import VideoEncoding

/// Frames of a moving picture.
private func frames(_ codec: VideoCodec, _ size: PixelSize, count: Int) throws -> [[UInt8]] {
    var encoder = try VideoEncoder(VideoEncoderConfiguration(codec: codec, size: size, targetBitrate: 1_000_000))
    var picture = NV12Picture(size: size)
    return try (0..<count).compactMap { step in
        picture.fill(luma: UInt8(40 + 10 * step), chroma: UInt8(100 + step))
        return try encoder.encode(picture, presentationTime: .seconds(5) + .milliseconds(33) * step) { _, data in
            data.withUnsafeBufferPointer { Array($0) }
        }
    }
}

@Suite struct VideoDecoderTests {
    @Test(arguments: VideoCodec.allCases)
    func picturesAreThoseOfAnotherDecoder(codec: VideoCodec) throws {
        var decoder = try VideoDecoder(codec)
        var reference = Decoder(codec)
        var picture = PlanarPicture()
        for frame in try frames(codec, PixelSize(width: 320, height: 180), count: 10) {
            let isShown = try decoder.decode(frame.span, into: &picture)
            let isDecoded = reference.decode(frame.span)
            #expect(isShown && isDecoded)
            #expect(picture == reference.picture)
        }
    }

    /// A few bytes may announce a picture that takes gigabytes.
    /// Invariant: untrustedMedia.
    @Test(
        arguments: [
            (.vp8, [0x10, 0, 0, 0x9D, 1, 0x2A, 0xFF, 0x3F, 0xFF, 0x3F], 16383),
            (.vp8, [0x10, 0, 0, 0x9D, 1, 0x2A, 1, 0, 1, 0], 1),
            // A keyframe of 65536x65536.
            (.vp9, [0x82, 0x49, 0x83, 0x42, 0x2F, 0xFF, 0xFF, 0xFF, 0xF0, 0], 65536),
            // The second frame of a superframe.
            (
                .vp9,
                [0x88, 0x82, 0x49, 0x83, 0x42, 0x2F, 0xFF, 0xFF, 0xFF, 0xF0, 0, 0xC1, 1, 10, 0xC1], 65536
            ),
            // A sequence header of 65536x65536: profile 0, reduced, level 0, 16 bits each.
            (.av1, [0x12, 0, 0x0A, 8, 0x18, 0x3F, 0xFF, 0xFF, 0xFF, 0xFF, 0xC0, 0], 65536),
        ] as [(VideoCodec, [UInt8], Int)]
    )
    func hugePicturesAreRefused(codec: VideoCodec, bytes: [UInt8], side: Int) throws {
        var decoder = try VideoDecoder(codec)
        var picture = PlanarPicture()
        var problem: VideoDecoderError?
        do throws(VideoDecoderError) { _ = try decoder.decode(bytes.span, into: &picture) } catch { problem = error }
        #expect(problem == .size(width: side, height: side))
    }

    /// An inter frame may change the size, too.
    @Test func aFrameBetweenMayNotGrow() throws {
        var decoder = try VideoDecoder(.vp9)
        var picture = PlanarPicture()
        let keyframe = try frames(.vp9, PixelSize(width: 64, height: 64), count: 1)[0]
        _ = try decoder.decode(keyframe.span, into: &picture)
        // Marker, profile 0, new, inter, shown, not resilient; no reset; references; none has the size; 65536 each.
        var bits = "10" + "00" + "0" + "1" + "1" + "0" + "00" + "00000001" + "000000000000" + "000"
        bits += String(repeating: "1", count: 32) + "0000000"
        let bytes = stride(from: 0, to: bits.count / 8 * 8, by: 8).map { place in
            UInt8(bits.dropFirst(place).prefix(8), radix: 2)!
        }
        var problem: VideoDecoderError?
        do throws(VideoDecoderError) { _ = try decoder.decode(bytes.span, into: &picture) } catch { problem = error }
        #expect(problem == .size(width: 65536, height: 65536))
    }

    /// What follows a frame without an index is not decoded: its size is not known.
    @Test(arguments: [[0x88], [0x88, 0]] as [[UInt8]])
    func nothingFollowsAFrame(shownAgain: [UInt8]) throws {
        var decoder = try VideoDecoder(.vp9)
        var picture = PlanarPicture()
        let size = PixelSize(width: 64, height: 64)
        let keyframe = try frames(.vp9, size, count: 1)[0]
        _ = try decoder.decode(keyframe.span, into: &picture)
        let first = picture
        // The first picture again, and a keyframe of 65536x65536.
        let bytes = shownAgain + [0x82, 0x49, 0x83, 0x42, 0x2F, 0xFF, 0xFF, 0xFF, 0xF0, 0]
        let isShown = try decoder.decode(bytes.span, into: &picture)
        #expect(isShown)
        #expect(picture == first)
        // After a picture of its own, too.
        let both = keyframe + bytes
        let isDecoded = try decoder.decode(both.span, into: &picture)
        #expect(isDecoded)
        #expect(picture == first)
    }

    /// Damaged at random, cut and mixed up: an error or a picture, and the decoder can be given up at any time.
    /// Invariant: untrustedMedia.
    @Test(arguments: VideoCodec.allCases)
    func damagedFramesAreErrors(codec: VideoCodec) throws {
        var random = SplitMix(seed: 11)
        let good = try frames(codec, PixelSize(width: 96, height: 64), count: 6)
        var (errors, pictures) = (0, 0)
        for _ in 0..<150 {
            var decoder = try VideoDecoder(codec)
            var picture = PlanarPicture()
            for var frame in good {
                switch Int.random(in: 0..<9, using: &random) {
                case 0: frame = Array(frame.prefix(Int.random(in: 0...frame.count, using: &random)))
                case 1:
                    for _ in 0..<Int.random(in: 1...6, using: &random) {
                        frame[Int.random(in: frame.indices, using: &random)] = .random(in: 0...255, using: &random)
                    }
                case 2: frame = (0..<frame.count).map { _ in .random(in: 0...255, using: &random) }
                default: break
                }
                do {
                    if try decoder.decode(frame.span, into: &picture) { pictures += 1 }
                } catch {
                    errors += 1
                }
                #expect(picture.size.width <= 4096 && picture.size.height <= 4096)
            }
        }
        #expect(errors > 50 && pictures > 50, "\(errors), \(pictures)")
    }

    @Test func oddSizesLoseAColumnAndARow() throws {
        // libvpx's encoder takes even sizes only here; a VP8 keyframe tells its size in bytes 6 to 9.
        var keyframe = try frames(.vp8, PixelSize(width: 64, height: 48), count: 1)[0]
        (keyframe[6], keyframe[8]) = (63, 47)
        var decoder = try VideoDecoder(.vp8)
        var picture = PlanarPicture()
        let isShown = try decoder.decode(keyframe.span, into: &picture)
        #expect(isShown)
        #expect(picture.size == PixelSize(width: 62, height: 46))
    }
}
