import Control
import Media
import TestSupport
import Testing

@Suite struct FeedAnswerTests {
    private static func answer(_ random: inout SplitMix) -> FeedAnswer {
        var recorder = RecorderSnapshot(pid: 7, state: .armed, folder: "/a/secret/place")
        (recorder.file, recorder.lengthS) = (Bool.random(using: &random) ? "a.webm" : nil, 1.5)
        recorder.clips = Bool.random(using: &random) ? ClipSettings() : nil
        let refusal: RecorderRefusal? = Bool.random(using: &random) ? .busy : nil
        return FeedAnswer(to: .random(in: 0...UInt64.max, using: &random), refusal, by: recorder)
    }

    @Test func aSenderLearnsNoPath() throws {
        var random = SplitMix(seed: 1)
        #expect(Self.answer(&random).recorder.folder == "")
    }

    /// However the bytes are cut on their way, and whatever bytes nobody knows are between.
    @Test(arguments: 0..<20) func whatIsSentIsReceived(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var (sent, bytes): ([FeedRequestDecoder.Item], [UInt8]) = ([], [])
        for _ in 0..<200 {
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                let answer = Self.answer(&random)
                sent.append(.answer(answer))
                bytes += answer.bytes
            case 1:
                let request = [FeedRequest.keyframe, .pause, .resume].randomElement(using: &random)!
                sent.append(.request(request))
                bytes.append(request.rawValue)
            default: bytes.append(UInt8(ascii: "x"))
            }
        }
        var (decoder, received): (FeedRequestDecoder, [FeedRequestDecoder.Item]) = (FeedRequestDecoder(), [])
        while !bytes.isEmpty {
            let piece = bytes.prefix(Int.random(in: 1...900, using: &random))
            decoder.take(piece)
            bytes.removeFirst(piece.count)
            while let item = try decoder.next() { received.append(item) }
        }
        #expect(received == sent)
    }

    @Test(arguments: 0..<200) func damagedBytesAreSurvived(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var bytes = (0..<10).flatMap { _ in Self.answer(&random).bytes }
        for _ in 0..<Int.random(in: 1...10, using: &random) {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        var decoder = FeedRequestDecoder()
        decoder.take(bytes)
        var answers = 0
        while let item = try? decoder.next() { if case .answer = item { answers += 1 } }
        #expect(answers <= 10, "as many as were sent")
    }

    @Test func anAnswerWithoutEndIsNoAnswer() {
        var decoder = FeedRequestDecoder()
        decoder.take([UInt8(ascii: "A"), 0xFF, 0xFF])
        #expect(throws: FeedRequestDecoder.Malformed.self) { try decoder.next() }
    }
}
