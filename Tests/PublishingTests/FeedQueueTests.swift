import Control
import Media
import TestSupport
import Testing
import Time

@testable import Publishing

@Suite struct FeedQueueTests {
    /// A recorder that reads at any pace gets each message whole, and of pictures a sequence that can be decoded.
    @Test(arguments: 0..<6) func aSlowRecorderLosesWholePicturesAlone(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var (queue, decoder) = (FeedQueue(), FeedDecoder())
        var (number, received, dropped, broken): (Int, [Int], Int, Bool) = (0, [], 0, false)
        for _ in 0..<150 {
            for _ in 0..<Int.random(in: 0...20, using: &random) {
                let isKeyframe = queue.needsKeyframe || number == 0
                queue.append(Self.picture(number, isKeyframe: isKeyframe, size: 100_000))
                number += 1
            }
            var room = Int.random(in: 0...1_200_000, using: &random)
            var taken: [UInt8] = []
            queue.drain { bytes in
                let count = min(room, bytes.count)
                taken += bytes.prefix(count)
                room -= count
                return count
            }
            decoder.take(taken[...])
            while let message = try decoder.next() {
                switch message {
                case .picture(let picture, _):
                    if broken { #expect(picture.isKeyframe) }
                    broken = false
                    received.append(Int(picture.width) - 1 + (Int(picture.height) - 1) << 15)
                case .dropped(let count):
                    dropped += count
                    broken = true
                default: Issue.record("\(message)")
                }
            }
            #expect(queue.byteCount < FeedQueue.mostBytes + 200_000)
        }
        queue.drain { bytes in
            decoder.take(bytes)
            return bytes.count
        }
        #expect(queue.isEmpty)
        #expect(received == received.sorted())
        #expect(dropped > 0)
    }

    @Test func whatIsNoPictureIsNeverDropped() throws {
        var (queue, decoder) = (FeedQueue(), FeedDecoder())
        for number in 0..<200 { queue.append(Self.picture(number, isKeyframe: true, size: 100_000)) }
        queue.append(.paused(true, since: .seconds(1)))
        queue.append(.horizon(.seconds(1)))
        var messages: [FeedMessage] = []
        queue.drain { bytes in
            decoder.take(bytes)
            return bytes.count
        }
        while let message = try decoder.next() { messages.append(message) }
        #expect(messages.suffix(2) == [.paused(true, since: .seconds(1)), .horizon(.seconds(1))])
    }

    private static func picture(_ number: Int, isKeyframe: Bool, size: Int) -> FeedMessage {
        let picture = FeedPicture(
            codec: .vp8,
            isKeyframe: isKeyframe,
            width: UInt16(number & 0x7FFF) + 1,
            height: UInt16(number >> 15) + 1,
            shownAt: .seconds(Double(number)),
            captureTime: .seconds(Double(number))
        )
        return .picture(picture, [UInt8](repeating: 0, count: size))
    }
}
