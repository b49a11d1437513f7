import Containers
import TestSupport
import Testing

@Suite struct AV1ConfigurationTests {
    /// The beginning of a keyframe of libaom 3.6, 320x180: a temporal delimiter, a sequence header and a bit of a frame.
    static let keyframe: [UInt8] =
        [0x12, 0x00, 0x0A, 0x0B, 0, 0, 0, 4, 60, 254, 204, 218, 249, 0, 64, 0x32, 0x03, 0x10, 0x00, 0x00]

    /// As ffmpeg writes it for this stream.
    @Test func theRecordIsThatOfOthers() throws {
        let configuration = try #require(AV1Configuration(keyframe: Self.keyframe))
        #expect(configuration.record == [0x81, 0, 0x0C, 0, 0x0A, 0x0B, 0, 0, 0, 4, 60, 254, 204, 218, 249, 0, 64])
        #expect(configuration.codecString == "av01.0.00M.08")
    }

    @Test func theDelimiterIsLeftOut() {
        #expect(OpenBitstreamUnit.withoutDelimiter(Self.keyframe[...]).elementsEqual(Self.keyframe.dropFirst(2)))
        #expect(OpenBitstreamUnit.withoutDelimiter(Self.keyframe[2...]).elementsEqual(Self.keyframe[2...]))
    }

    @Test func framesWithoutASequenceHeaderHaveNone() {
        #expect(AV1Configuration(keyframe: []) == nil)
        #expect(AV1Configuration(keyframe: [0x12, 0x00, 0x32, 0x03, 0x10, 0x00, 0x00]) == nil)
        for length in 0..<15 { #expect(AV1Configuration(keyframe: Array(Self.keyframe.prefix(length))) == nil) }
    }

    @Test(arguments: 0..<200) func damagedFramesAreSurvived(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var frame = Self.keyframe
        for _ in 0..<3 {
            frame[Int.random(in: 0..<frame.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        _ = AV1Configuration(keyframe: frame)
    }
}
