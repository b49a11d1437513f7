import Control
import Media
import TestSupport
import Testing
import Time

@Suite struct FeedMessageTests {
    private static func random(_ random: inout SplitMix) -> FeedMessage {
        func bytes(_ range: ClosedRange<Int>) -> [UInt8] {
            (0..<Int.random(in: range, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        func instant() -> Instant { Instant(nanoseconds: .random(in: 0...UInt64.max, using: &random)) }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return .begin(version: FeedMessage.version, offersSound: .random(using: &random))
        case 1:
            let picture = FeedPicture(
                codec: VideoCodec.allCases.randomElement(using: &random)!,
                isKeyframe: .random(using: &random),
                width: .random(in: 1...UInt16.max, using: &random),
                height: .random(in: 1...UInt16.max, using: &random),
                shownAt: instant(),
                captureTime: instant()
            )
            return .picture(picture, bytes(1...3000))
        case 2: return .sound(bytes(1...FeedMessage.longestPacket), at: instant())
        case 3: return .horizon(instant())
        case 4: return .paused(.random(using: &random), since: instant())
        case 5:
            let columns = Int.random(in: 1...256, using: &random)
            let rows = Int.random(in: 1...256, using: &random)
            var change = TileChange(columns: columns, rows: rows)
            for _ in 0..<10 {
                change[.random(in: 0..<columns, using: &random), .random(in: 0..<rows, using: &random)] = true
            }
            return .changed(change, at: instant())
        case 6:
            let requests: [RecorderRequest] = [
                .status, .trigger, .replay(seconds: 20), .replay(seconds: nil), .change(clips: nil, version: 3),
                .change(clips: ClipSettings(), version: nil),
            ]
            return .question(
                requests.randomElement(using: &random)!,
                number: .random(in: 0...UInt64.max, using: &random),
                until: instant()
            )
        default: return .dropped(.random(in: 0...10_000, using: &random))
        }
    }

    /// However the bytes are cut on their way.
    @Test(arguments: 0..<20) func whatIsSentIsReceived(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let sent = (0..<200).map { _ in Self.random(&random) }
        var rest = sent.flatMap { $0.head + $0.content }[...]
        var (decoder, received): (FeedDecoder, [FeedMessage]) = (FeedDecoder(), [])
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...5000, using: &random))
            decoder.take(piece)
            rest = rest.dropFirst(piece.count)
            while let message = try decoder.next() { received.append(message) }
        }
        #expect(received == sent)
    }

    /// A sender that was taken over: no crash, and no memory for what it only promises.
    @Test(arguments: 0..<200) func damagedBytesAreSurvived(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var bytes = (0..<20).map { _ in Self.random(&random) }.flatMap { $0.head + $0.content }
        for _ in 0..<Int.random(in: 1...10, using: &random) {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        var decoder = FeedDecoder()
        decoder.take(bytes[...])
        do { while try decoder.next() != nil {} } catch {}
    }

    @Test func aContentThatIsTooLongIsRefused() throws {
        var head = FeedMessage.sound([1], at: .seconds(1)).head
        (head[4], head[5], head[6], head[7]) = (0xFF, 0xFF, 0xFF, 0x7F)
        var decoder = FeedDecoder()
        decoder.take(head[...])
        #expect(throws: FeedDecoder.Malformed.self) { try decoder.next() }
    }

    /// A sender of an older version sends a line of JSON.
    @Test func aReplyInWordsIsRefused() {
        var decoder = FeedDecoder()
        decoder.take(Array(#"{"refused":{"reason":"the request makes no sense at all"}}"#.utf8)[...])
        #expect(throws: FeedDecoder.Malformed.self) { try decoder.next() }
    }
}
