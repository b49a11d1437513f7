import Containers
import TestSupport
import Testing
import Time

@Suite struct WebMRepairTests {
    /// Torn off at each byte, a file loses what was not whole there, and nothing else.
    @Test(arguments: 0..<6) func atEachByteAllThatWasWholeStays(seed: UInt64) throws {
        let file = WebMFixture.random(seed, hasSound: seed % 2 == 1, seconds: seed % 2 == 1 ? 1 : 12, largest: 30)
        let head = try #require(WebMHead(file.bytes)?.endAt)
        for length in Int(head)...file.bytes.count {
            var torn = file
            torn.bytes = Array(file.bytes[..<length])
            let whole = file.frames(in: length)
            guard case .torn(let end) = try outcome(torn.bytes) else {
                #expect(try outcome(torn.bytes) == .empty)
                #expect(whole.isEmpty)
                continue
            }
            torn.apply(end)
            let reading = WebMReading(torn.bytes)
            #expect(reading.isWhole)
            #expect(reading.frames == whole, "\(length)")
            let last = whole.map(\.ms).max() ?? 0
            #expect(reading.duration! > Double(last) && reading.duration! <= Double(last + 10_000))
            #expect(try outcome(torn.bytes) == .whole)
        }
    }

    /// The end itself may be interrupted, at each byte of it.
    @Test(arguments: 0..<4) func anEndThatIsInterruptedIsRepeated(seed: UInt64) throws {
        var file = WebMFixture.random(seed, hasSound: seed % 2 == 1, seconds: 12, largest: 30)
        let ended = file.writer.end(at: .seconds(13))
        let (end, open) = (try #require(ended), file)
        file.apply(end)
        for length in Int(end.offset)...Int(end.offset) + end.bytes.count {
            var torn = open
            torn.bytes = Array(open.bytes[..<Int(end.offset)]) + end.bytes.prefix(length - Int(end.offset))
            guard case .torn(let again) = try outcome(torn.bytes) else {
                Issue.record("\(try outcome(torn.bytes)) at \(length)")
                continue
            }
            torn.apply(again)
            let reading = WebMReading(torn.bytes)
            #expect(reading.isWhole)
            #expect(reading.frames.count >= file.frames.count - 101, "the last picture and the sound since")
            #expect(Array(file.frames.prefix(reading.frames.count)) == reading.frames)
        }
        #expect(try outcome(file.bytes) == .whole)
    }

    /// As of a screen that stands still: the keyframe is the last picture too.
    @Test func theEndOfASinglePictureIsRepeated() throws {
        var file = WebMFixture()
        file.add([1, 2, 3], .picture, at: 0, isKeyframe: true)
        file.end(at: 1)
        #expect(try outcome(file.bytes) == .whole)
        let cues = try #require(WebMReading(file.bytes).places[MatroskaID.cues.rawValue])
        var torn = file
        torn.bytes = Array(file.bytes[..<Int(cues + WebMHead(file.bytes)!.contentAt)])
        guard case .torn(let end) = try outcome(torn.bytes) else {
            Issue.record("it is torn")
            return
        }
        torn.apply(end)
        #expect(torn.bytes == file.bytes)
    }

    /// Without frames, the beats tell how long the picture stood.
    @Test func beatsCount() throws {
        var file = WebMFixture()
        file.add([1], .picture, at: 0, isKeyframe: true)
        for _ in 0..<4 { file.beat() }
        guard case .torn(let end) = try outcome(file.bytes) else {
            Issue.record("it is torn")
            return
        }
        #expect(end.duration == 4000)
    }

    @Test(arguments: ["", "nothing of a video", "\u{1A}E\u{DF}\u{A3}"]) func filesOfOthersAreRefused(text: String)
        throws
    {
        #expect(try outcome(Array(text.utf8)) == .foreign)
    }

    @Test func aFileOfAnotherWriterIsRefused() throws {
        var file = WebMFixture.random(1, hasSound: false, seconds: 3)
        let name = Array(WebMHead.application.utf8)
        let place = try #require(
            file.bytes.indices.last { $0 + name.count <= 400 && Array(file.bytes[$0..<$0 + name.count]) == name }
        )
        file.bytes[place] ^= 1
        #expect(try outcome(file.bytes) == .foreign)
    }

    /// Whatever a file has: no crash, no work without end, and nothing beyond the file is asked for.
    @Test(arguments: 0..<300) func damagedFilesAreSurvived(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var file = WebMFixture.random(seed % 7, hasSound: seed % 2 == 1, seconds: 8)
        let head = try #require(WebMHead(file.bytes)?.endAt)
        for _ in 0..<Int.random(in: 1...20, using: &random) {
            let from = Bool.random(using: &random) ? Int(head) : 0
            file.bytes[Int.random(in: from..<file.bytes.count, using: &random)] = UInt8.random(
                in: 0...255,
                using: &random
            )
        }
        if case .torn(let end) = try outcome(file.bytes) {
            #expect(end.offset <= UInt64(file.bytes.count))
            for patch in end.patches {
                #expect(patch.offset + UInt64(patch.bytes.count) <= end.offset + UInt64(end.bytes.count))
            }
            file.apply(end)
        }
    }

    /// What cannot be read is no torn end.
    @Test func aFailureToReadIsThrown() {
        struct Unreadable: Error {}
        #expect(throws: Unreadable.self) {
            try WebMRepair.outcome(length: 10_000) { _, _ in throw Unreadable() }
        }
    }

    private func outcome(_ bytes: [UInt8]) throws -> WebMRepair.Outcome {
        var reads = 0
        let outcome = try WebMRepair.outcome(length: UInt64(bytes.count)) { offset, count in
            reads += 1
            return Array(bytes.dropFirst(Int(offset)).prefix(count))
        }
        #expect(reads < 100 + bytes.count / 100)
        return outcome
    }
}
