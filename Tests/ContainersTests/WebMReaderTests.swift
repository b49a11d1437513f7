import Containers
import Media
import TestSupport
import Testing
import Time

@Suite struct WebMReaderTests {
    @Test(arguments: 0..<8) func eachPictureIsRead(seed: UInt64) throws {
        var file = WebMFixture.random(seed, hasSound: seed % 2 == 1, seconds: seed % 2 == 1 ? 8 : 60)
        let expected = pictures(of: file)
        #expect(try read(file.bytes) == expected, "not ended")
        file.end(at: 61)
        #expect(try read(file.bytes) == expected)
    }

    /// Of a torn file, what is whole.
    @Test(arguments: 0..<4) func aTornFileIsReadUpToItsEnd(seed: UInt64) throws {
        let file = WebMFixture.random(seed, hasSound: seed % 2 == 1, seconds: seed % 2 == 1 ? 1 : 12, largest: 30)
        let head = try #require(WebMHead(file.bytes)?.endAt)
        for length in Int(head)...file.bytes.count {
            let whole = file.frames(in: length).count { $0.track == .picture }
            #expect(try read(Array(file.bytes[..<length])) == Array(pictures(of: file).prefix(whole)), "\\(length)")
        }
    }

    /// At each time, the reader goes on with the last keyframe before it, or where it is.
    @Test(arguments: 0..<4) func skippingLeavesOutWhatIsNotNeeded(seed: UInt64) throws {
        var file = WebMFixture.random(seed, hasSound: false, seconds: 60)
        file.end(at: 61)
        let all = pictures(of: file)
        for second in 0...61 {
            var reader = try #require(try self.reader(file.bytes))
            try reader.skip(to: .seconds(second))
            let keyframe = try #require(all.last { $0.isKeyframe && $0.ms <= second * 1000 })
            #expect(try reader.nextFrame() == keyframe)
            try reader.skip(to: .zero)
            #expect(try reader.nextFrame() == all.first { $0.ms > keyframe.ms }, "never back")
        }
    }

    @Test(arguments: VideoCodec.allCases) func theCodecIsKnown(codec: VideoCodec) throws {
        let av1 = codec == .av1 ? AV1Configuration(keyframe: AV1ConfigurationTests.keyframe) : nil
        var file = WebMFixture(WebMTracks(codec: codec, dimensions: (64, 64), av1: av1, sound: nil))
        file.add([1], .picture, at: 0, isKeyframe: true)
        #expect(try reader(file.bytes)?.codec == codec)
    }

    @Test func whatIsNoRecordingIsRefused() throws {
        #expect(try reader([]) == nil)
        #expect(try reader(Array("a text".utf8)) == nil)
        #expect(try reader(WebMFixture().bytes) == nil, "without a frame")
        var file = WebMFixture()
        file.add([1], .picture, at: 0, isKeyframe: true)
        let codec = try #require(file.bytes.firstRange(of: Array("V_VP8".utf8)))
        file.bytes.replaceSubrange(codec, with: Array("V_MS8".utf8))
        #expect(try reader(file.bytes) == nil, "of another codec")
    }

    /// Many of them in one place would cost terabytes of reading.
    @Test func aFrameEndsWithItsGroup() throws {
        var file = WebMFixture()
        file.add([1], .picture, at: 0, isKeyframe: true)
        // A group of eight bytes, and a block of a kilobyte in it.
        file.bytes += [0xA0, 0x88, 0xA1, 0x44, 0x00, 0x81, 0, 1, 0, 0] + [UInt8](repeating: 0, count: 2000)
        #expect(try read(file.bytes).count == 1)
    }

    @Test(arguments: [1e300, 1e14, -1, .infinity, .nan]) func aLengthThatCannotBeIsNone(ms: Double) throws {
        var file = WebMFixture()
        file.add([1], .picture, at: 0, isKeyframe: true)
        file.end(at: 1)
        let place = try #require(file.bytes.firstRange(of: [0x44, 0x89, 0x88])).upperBound
        let value = withUnsafeBytes(of: ms.bitPattern.bigEndian) { Array($0) }
        #expect(WebMHead(file.bytes)?.duration(in: file.bytes) == 1000)
        file.bytes.replaceSubrange(place..<place + 8, with: value)
        #expect(WebMHead(file.bytes)?.duration(in: file.bytes) == nil)
    }

    /// Damaged bytes end the pictures, and neither crash nor hang.
    @Test(arguments: 0..<200) func mutatedFilesAreReadToAnEnd(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var file = WebMFixture.random(seed, hasSound: seed % 2 == 1, seconds: 5)
        file.end(at: 6)
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            let place = Int.random(in: 0..<file.bytes.count, using: &random)
            file.bytes[place] = UInt8.random(in: 0...255, using: &random)
        }
        guard var reader = try reader(file.bytes) else { return }
        try reader.skip(to: .seconds(Int.random(in: 0...6, using: &random)))
        var count = 0
        while try reader.next() != nil { count += 1 }
        #expect(count <= file.bytes.count)
    }

    private func pictures(of file: WebMFixture) -> [WebMReading.Frame] { file.frames.filter { $0.track == .picture } }

    private func reader(_ file: [UInt8]) throws -> WebMReader? {
        try WebMReader(length: UInt64(file.count)) { offset, count in
            Array(file.dropFirst(Int(offset)).prefix(count))
        }
    }

    private func read(_ file: [UInt8]) throws -> [WebMReading.Frame] {
        guard var reader = try reader(file) else { return [] }
        var pictures: [WebMReading.Frame] = []
        while let picture = try reader.nextFrame() { pictures.append(picture) }
        return pictures
    }
}

extension WebMReader {
    fileprivate mutating func nextFrame() throws -> WebMReading.Frame? {
        guard let picture = try next() else { return nil }
        let ms = Int(picture.time / .milliseconds(1))
        return WebMReading.Frame(track: .picture, ms: ms, isKeyframe: picture.isKeyframe, bytes: picture.frame)
    }
}
