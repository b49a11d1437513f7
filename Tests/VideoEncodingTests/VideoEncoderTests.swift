import Differential
import Media
import Pixels
import TestSupport
import Testing
import Time
import VideoEncoding

struct VideoEncoderTests {
    private static let size = PixelSize(width: 320, height: 180)
    private static let frameInterval = Duration.nanoseconds(33_333_333)

    /// When a frame is shown, counted from 0.
    private static func instant(_ step: Int) -> Instant { .seconds(5) + frameInterval * step }

    private func configuration(_ codec: VideoCodec, bitrate: Int = 600_000) -> VideoEncoderConfiguration {
        VideoEncoderConfiguration(codec: codec, size: Self.size, targetBitrate: bitrate)
    }

    @Test(arguments: VideoCodec.allCases)
    func encodesMotionThatDecodesToThePictures(codec: VideoCodec) throws {
        var encoder = try VideoEncoder(configuration(codec, bitrate: 1_000_000))
        var decoder = Decoder(codec)
        var picture = NV12Picture(size: Self.size)
        for step in 0..<20 {
            Scene.draw(step, into: &picture)
            let time = Self.instant(step)
            let frame = try encoder.encode(picture, presentationTime: time) { frame, data in
                let isDecoded = decoder.decode(data)
                #expect(isDecoded)
                return frame
            }
            let encoded = try #require(frame)
            #expect(encoded.isKeyframe == (step == 0))
            #expect((0...63).contains(encoded.quantizer))
            #expect(decoder.size == Self.size)
            #expect(peakSignalToNoiseRatio(picture, decoder.luma) > 25)
        }
    }

    /// VP8 has no tag: it means BT.601 (RFC 6386 §9.2).
    @Test(arguments: [VideoCodec.vp9, .av1])
    func theStreamNamesItsMatrix(codec: VideoCodec) throws {
        var encoder = try VideoEncoder(configuration(codec))
        var decoder = Decoder(codec)
        var picture = NV12Picture(size: Self.size)
        Scene.draw(0, into: &picture)
        try encoder.encode(picture, presentationTime: Self.instant(0)) { _, data in
            let isDecoded = decoder.decode(data)
            #expect(isDecoded)
        }
        #expect(decoder.matrix == .bt601)
    }

    @Test(arguments: VideoCodec.allCases)
    func aPictureAtRestConverges(codec: VideoCodec) throws {
        var encoder = try VideoEncoder(configuration(codec))
        var decoder = Decoder(codec)
        var picture = NV12Picture(size: Self.size)
        Scene.draw(0, into: &picture)
        var quantizer = 63
        for step in 0..<60 {
            let time = Self.instant(step)
            let result = try encoder.encode(picture, presentationTime: time) { frame, data in
                let isDecoded = decoder.decode(data)
                #expect(isDecoded)
                return frame.quantizer
            }
            quantizer = try #require(result)
        }
        // Where that is not fine enough, patches are finer.
        #expect(quantizer <= max(codec.convergedQuantizer, 8))
        #expect(peakSignalToNoiseRatio(picture, decoder.luma) > 40)
    }

    /// A sign of life costs next to nothing, changes nothing, and does not keep what follows from being encoded.
    @Test(arguments: VideoCodec.allCases)
    func repeatingThePictureIsSmallAndChangesNothing(codec: VideoCodec) throws {
        var encoder = try VideoEncoder(configuration(codec))
        var decoder = Decoder(codec)
        var picture = NV12Picture(size: Self.size)
        func encode(_ step: Int, repeatsLast: Bool) throws -> Int {
            try #require(
                try encoder.encode(
                    picture,
                    presentationTime: Self.instant(step),
                    active: repeatsLast ? BlockSet(encoder.configuration.size, side: BlockSet.macroblock) : nil
                ) { _, data in
                    let isDecoded = decoder.decode(data)
                    #expect(isDecoded)
                    return data.count
                }
            )
        }
        Scene.draw(0, into: &picture)
        for step in 0..<60 { _ = try encode(step, repeatsLast: false) }
        let quality = peakSignalToNoiseRatio(picture, decoder.luma)
        for step in 60..<120 { #expect(try encode(step, repeatsLast: true) < 200) }
        #expect(peakSignalToNoiseRatio(picture, decoder.luma) > quality - 0.1)
        Scene.draw(9, into: &picture)
        for step in 120..<126 { _ = try encode(step, repeatsLast: false) }
        #expect(peakSignalToNoiseRatio(picture, decoder.luma) > 30)
    }

    @Test(arguments: VideoCodec.allCases)
    func makesAKeyframeOnDemandWhichDecodesAlone(codec: VideoCodec) throws {
        var encoder = try VideoEncoder(configuration(codec))
        var picture = NV12Picture(size: Self.size)
        var decoder = Decoder(codec)
        for step in 0..<6 {
            Scene.draw(step, into: &picture)
            let isKeyframe = try encoder.encode(
                picture,
                presentationTime: Self.instant(step),
                forceKeyframe: step == 4
            ) { frame, data in
                let isDecoded = step < 4 || decoder.decode(data)
                #expect(isDecoded)
                return frame.isKeyframe
            }
            #expect(isKeyframe == (step == 0 || step == 4))
        }
        #expect(peakSignalToNoiseRatio(picture, decoder.luma) > 25)
    }

    @Test(arguments: VideoCodec.allCases)
    func keepsToTheBitrate(codec: VideoCodec) throws {
        var encoder = try VideoEncoder(configuration(codec, bitrate: 800_000))
        #expect(try bitrate(of: &encoder, steps: 0..<90, measuredFrom: 30) < 960_000)
        try encoder.setBitrate(400_000)
        #expect(encoder.configuration.targetBitrate == 400_000)
        let lower = try bitrate(of: &encoder, steps: 90..<180, measuredFrom: 120)
        #expect(lower > 320_000 && lower < 480_000)
    }

    /// In b/s, of frames from `first` on.
    private func bitrate(
        of encoder: inout VideoEncoder,
        steps: Range<Int>,
        measuredFrom first: Int
    ) throws -> Int {
        var picture = NV12Picture(size: Self.size)
        var bytes = 0
        for step in steps {
            Scene.draw(step * 7, into: &picture)
            let count = try encoder.encode(picture, presentationTime: Self.instant(step)) {
                $1.count
            }
            if step >= first { bytes += count ?? 0 }
        }
        return bytes * 8 * 30 / (steps.upperBound - first)
    }

    /// Also over the 32 bits of milliseconds, of microseconds and of nanoseconds; and frames may come close together.
    @Test(arguments: VideoCodec.allCases)
    func theStreamGoesOnForMonths(codec: VideoCodec) throws {
        var encoder = try VideoEncoder(configuration(codec))
        var decoder = Decoder(codec)
        var picture = NV12Picture(size: Self.size)
        var time = Instant(nanoseconds: 1)
        let (frame, day) = (Duration.milliseconds(33), Duration.seconds(24 * 3600))
        let pauses = [.zero, .nanoseconds(1), frame, .nanoseconds(100), day, day * 49, day, frame, frame, day * 100]
        for (step, pause) in pauses.enumerated() {
            time += pause
            Scene.draw(step, into: &picture)
            let isDecoded = try encoder.encode(picture, presentationTime: time + .nanoseconds(1)) { decoder.decode($1) }
            #expect(isDecoded == true)
            #expect(peakSignalToNoiseRatio(picture, decoder.luma) > 25)
            time += .nanoseconds(1)
        }
    }

    @Test(arguments: VideoCodec.allCases)
    func theSameInputGivesTheSameStream(codec: VideoCodec) throws {
        func stream() throws -> [[UInt8]] {
            var encoder = try VideoEncoder(configuration(codec))
            var picture = NV12Picture(size: Self.size)
            return try (0..<8).map { step in
                Scene.draw(step, into: &picture)
                let bytes = try encoder.encode(picture, presentationTime: Self.instant(step)) {
                    $1.withUnsafeBytes { [UInt8]($0) }
                }
                return bytes ?? []
            }
        }
        #expect(try stream() == stream())
    }

    /// Invariant: oneClock.
    @Test(arguments: VideoCodec.allCases)
    func refusesTimeThatStandsStill(codec: VideoCodec) throws {
        var encoder = try VideoEncoder(configuration(codec))
        let picture = NV12Picture(size: Self.size)
        _ = try encoder.encode(picture, presentationTime: .nanoseconds(7)) { _, _ in }
        #expect(throws: VideoEncoderError.presentationTime(.nanoseconds(7), previous: .nanoseconds(7))) {
            _ = try encoder.encode(picture, presentationTime: .nanoseconds(7)) { _, _ in }
        }
        let next: Void? = try encoder.encode(picture, presentationTime: .milliseconds(40)) { _, _ in }
        #expect(next != nil)
    }

    @Test(arguments: [(0, 180), (320, 0), (321, 180), (320, 181), (16386, 180)])
    func refusesSizes(width: Int, height: Int) {
        var configuration = configuration(.vp8)
        configuration.size = PixelSize(width: width, height: height)
        expectRefusal(configuration)
    }

    @Test(arguments: VideoCodec.allCases, [-1, 0, 999, .max])
    func refusesBitrates(codec: VideoCodec, bitrate: Int) throws {
        expectRefusal(configuration(codec, bitrate: bitrate))
        var encoder = try VideoEncoder(configuration(codec))
        #expect(throws: VideoEncoderError.self) { try encoder.setBitrate(bitrate) }
    }

    @Test func refusesOtherNonsense() {
        var slow = configuration(.vp9)
        slow.framesPerSecond = 0
        expectRefusal(slow)
    }

    private func expectRefusal(_ configuration: VideoEncoderConfiguration) {
        do {
            _ = try VideoEncoder(configuration)
            Issue.record("accepted")
        } catch .configuration(let problem) {
            #expect(!problem.isEmpty)
        } catch {
            Issue.record("\(error)")
        }
    }
}
