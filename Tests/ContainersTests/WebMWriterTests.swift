import Containers
import Media
import TestSupport
import Testing
import Time

@Suite struct WebMWriterTests {
    @Test(arguments: 0..<40, [false, true])
    func whatIsWrittenIsRead(seed: UInt64, hasSound: Bool) {
        var file = WebMFixture.random(seed, hasSound: hasSound, seconds: 60)
        let reading = WebMReading(file.bytes)
        #expect(reading.frames == file.frames)
        file.end(at: 70)
        let whole = WebMReading(file.bytes)
        #expect(whole.isWhole)
        #expect(whole.frames == file.frames)
        #expect(whole.duration == 70_000)
    }

    /// As players seek by them.
    @Test(arguments: 0..<40) func everyPlaceIsRight(seed: UInt64) {
        var file = WebMFixture.random(seed, hasSound: seed % 2 == 0, seconds: 60)
        file.end(at: 61)
        let reading = WebMReading(file.bytes)
        for id in [MatroskaID.info, .tracks, .cues].map(\.rawValue) {
            #expect(reading.seekEntries[id] == reading.places[id])
        }
        #expect(reading.cues.map(\.ms) == file.frames.filter { $0.track == .picture && $0.isKeyframe }.map(\.ms))
        for (ms, place) in reading.cues { #expect(reading.clusters[place] == ms) }
    }

    @Test func aClusterIsShort() {
        var file = WebMFixture()
        file.add([0], .picture, at: 0, isKeyframe: true)
        for second in 1..<60 { file.add([0], .picture, at: Double(second)) }
        file.end(at: 60)
        let reading = WebMReading(file.bytes)
        #expect(reading.clusters.values.sorted() == Array(stride(from: 0, to: 60_000, by: 5000)))
        #expect(reading.cues.map(\.ms) == [0])
    }

    /// Three seconds of motion, and then a screen at rest that moves again.
    @Test func aClusterBeginsWherePicturesAreEven() {
        var file = WebMFixture()
        file.add([0], .picture, at: 0, isKeyframe: true)
        for index in 1...60 { file.add([0], .picture, at: Double(index) * 0.05) }
        for second in stride(from: 5.0, through: 19, by: 2) { file.add([0], .picture, at: second) }
        for index in 0..<60 { file.add([0], .picture, at: 19.4 + Double(index) * 0.05) }
        file.end(at: 23)
        let clusters = WebMReading(file.bytes).clusters.values.sorted()
        #expect(clusters == [0, 7000, 13_000, 19_000])
    }

    /// Players that are fed with clusters must not find a gap between two.
    @Test(arguments: 0..<40) func noClusterBeginsAfterAGap(seed: UInt64) {
        var file = WebMFixture.random(seed, hasSound: seed % 2 == 0, seconds: 300)
        file.end(at: 301)
        let reading = WebMReading(file.bytes)
        let pictures = reading.frames.filter { $0.track == .picture }
        let starts = reading.clusters.values.sorted()
        for (start, next) in zip(starts, starts.dropFirst()) {
            #expect(next - start <= 25_000)
            guard let index = pictures.firstIndex(where: { $0.ms == next }), index > 1, !pictures[index].isKeyframe,
                next - start < 20_000
            else { continue }
            let (last, gap) = (pictures[index - 1].ms - pictures[index - 2].ms, next - pictures[index - 1].ms)
            #expect(last <= 2 * gap && gap <= 2 * last, "\(last) and \(gap)")
        }
    }

    @Test func theLastPictureLastsUntilTheEnd() {
        var file = WebMFixture()
        file.add([1, 2, 3], .picture, at: 0, isKeyframe: true)
        file.add([4], .picture, at: 2)
        file.end(at: 3.5)
        #expect(WebMReading(file.bytes).lastDuration == 1500)
    }

    /// The end rewrites the file from the last picture on.
    @Test func soundAfterTheLastPictureStays() {
        var file = WebMFixture(WebMFixture.tracksWithSound)
        file.add([1], .picture, at: 0, isKeyframe: true)
        for index in 0..<100 { file.add([UInt8(index)], .sound, at: Double(index) * 0.02) }
        file.end(at: 1.5)
        let reading = WebMReading(file.bytes)
        #expect(reading.frames == file.frames)
        #expect(reading.duration == 2000, "the sound is longer than the picture")
    }

    @Test func aTimeNeverGoesBack() {
        var file = WebMFixture()
        file.add([0], .picture, at: 0, isKeyframe: true)
        file.add([1], .picture, at: 1)
        file.add([2], .picture, at: 0.5)
        file.add([3], .picture, at: -7)
        #expect(WebMReading(file.bytes).frames.map(\.ms) == [0, 1000, 1001, 1002])
    }

    @Test func aFileWithoutAFrameHasNoEnd() {
        var (writer, _) = WebMWriter.begin(WebMFixture.tracks, title: nil, date: 0)
        #expect(writer.end(at: .seconds(1)) == nil)
        #expect(writer.addBeat() == [])
    }

    /// A title that is long, and a codec with private data, stay within what the repair reads.
    @Test func theBeginningOfALargeHeadIsFoundAgain() throws {
        let av1 = try #require(AV1Configuration(keyframe: AV1ConfigurationTests.keyframe))
        let tracks = WebMTracks(codec: .av1, dimensions: (3840, 2160), av1: av1, sound: OpusHead(channels: 2))
        let (_, head) = WebMWriter.begin(tracks, title: String(repeating: "ä", count: 900), date: 0)
        #expect(WebMHead(head)?.endAt == UInt64(head.count))
        #expect(WebMHead(Array(head.dropLast())) == nil)
    }
}
