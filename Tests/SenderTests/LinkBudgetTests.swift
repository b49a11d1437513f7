import Media
import TestSupport
import Testing
import Time
import VideoEncoding

@testable import Sender

/// What is encoded how finely, beside a model of an encoder whose macroblocks of text take what the table says.
@Suite struct LinkBudgetTests {
    private static let blocks = 3600
    private static let bitrate = 2_500_000

    private func budget(_ codec: VideoCodec, linkRate: Int) -> LinkBudget {
        var budget = LinkBudget(codec, bitrate: Self.bitrate)
        budget.setBitrate(min(Self.bitrate, linkRate))
        budget.setLinkRate(linkRate)
        return budget
    }

    private func news(in budget: inout LinkBudget, at now: Instant) throws -> Int {
        let quantizer = budget.newsQuantizer(Self.blocks, isKeyframe: true, at: now)
        return try #require(quantizer)
    }

    @Test func withoutAMeasuredLinkRateControlDecides() {
        var budget = LinkBudget(.vp8, bitrate: Self.bitrate)
        #expect(!budget.isThin && budget.patchLimit == nil)
        let quantizer = budget.newsQuantizer(Self.blocks, isKeyframe: true, at: .seconds(1))
        #expect(quantizer == nil)
        #expect(budget.refinement(of: 50, at: .seconds(1)) == nil)
    }

    /// Over all rates: as fine as fits into 300 ms, and never too coarse to be read.
    @Test(
        arguments: VideoCodec.allCases,
        [30_000, 200_000, 500_000, 1_000_000, 2_000_000, 4_900_000, 12_000_000, 500_000_000]
    )
    func aPageAfterRestCanBeReadAtOnce(codec: VideoCodec, linkRate: Int) throws {
        var budget = budget(codec, linkRate: linkRate)
        let quantizer = try news(in: &budget, at: .seconds(10))
        #expect(codec.sharpQuantizer...codec.readableQuantizer ~= quantizer)
        let time = Double(Self.blocks) * codec.textBytes(quantizer) * 8 / Double(linkRate)
        #expect(time <= 0.3 || quantizer == codec.readableQuantizer)
        let finer = Double(Self.blocks) * codec.textBytes(quantizer - 1) * 8 / Double(linkRate)
        #expect(finer > 0.3 || quantizer == codec.sharpQuantizer)
    }

    /// A sample makes a page finer than usual, or lets a link carry more of it, but never makes it coarser.
    @Test(arguments: [VideoCodec.vp8, .av1]) func aPageGetsWhatItNeeds(codec: VideoCodec) throws {
        let usual = codec.readableQuantizer
        for readable in [0, 30, usual - 4, usual, usual + 3, 63] {
            var budget = budget(codec, linkRate: 100_000)
            let clear = max(readable - 12, 0)
            let bytes = codec.textBytes(max(readable, 8)) * 1.5
            budget.setNeed(ContentProbe.Need(readable: readable, clear: clear, bytes: bytes))
            let wanted = min(max(readable, codec.sharpQuantizer), usual)
            #expect(try news(in: &budget, at: .seconds(10)) == wanted)
            let following = budget.newsQuantizer(Self.blocks, isKeyframe: false, at: .seconds(10))
            #expect(following == max(wanted - codec.followingStep, codec.sharpQuantizer))
            // And then it gets clear.
            let refined = try #require(budget.refinement(of: 63, at: .seconds(10)))
            #expect(refined.quantizer <= min(max(clear, codec.sharpQuantizer), codec.clearQuantizer))
            #expect(refined.quantizer >= codec.sharpQuantizer)
        }
    }

    /// Of AV1, over links so slow that its bytes take longer than its encoding, and if little stays as it is.
    @Test func aPageIsAKeyframeWhereThatIsSooner() {
        func makesKeyframe(_ codec: VideoCodec, _ linkRate: Int, blocks: Int, newsAt: Double? = nil) -> Bool {
            var budget = budget(codec, linkRate: linkRate)
            if let newsAt {
                budget.note(1000, quantizer: 40, blocks: 100, isNews: true, at: .seconds(newsAt))
            }
            return budget.makesKeyframe(blocks, of: Self.blocks, at: .seconds(10))
        }
        #expect(makesKeyframe(.av1, 300_000, blocks: Self.blocks))
        #expect(makesKeyframe(.av1, 300_000, blocks: Self.blocks * 3 / 4))
        #expect(!makesKeyframe(.av1, 300_000, blocks: Self.blocks * 3 / 4 - 1))
        #expect(!makesKeyframe(.av1, 2_000_000, blocks: Self.blocks))
        #expect(!makesKeyframe(.vp8, 300_000, blocks: Self.blocks))
        // Not where pages follow each other fast.
        #expect(makesKeyframe(.av1, 300_000, blocks: Self.blocks, newsAt: 9))
        #expect(!makesKeyframe(.av1, 300_000, blocks: Self.blocks, newsAt: 9.8))
    }

    /// Motion of which no frame is as small as it should be does not make frames larger.
    @Test func whereNewsFollowsNewsFramesStayWithinTheBitrate() throws {
        var budget = budget(.vp8, linkRate: 1_000_000)
        var (now, bytes) = (Instant.seconds(10), 0)
        for frame in 0..<90 {
            let quantizer = try news(in: &budget, at: now)
            let size = Int(Double(Self.blocks) * VideoCodec.vp8.textBytes(quantizer) * 0.3)
            budget.note(size, quantizer: quantizer, blocks: Self.blocks, isNews: true, at: now)
            if frame >= 30 { bytes += size }
            now += .seconds(1) / 30
        }
        #expect(400_000...1_000_000 ~= Double(bytes) * 8 / 2)
    }

    /// Sparse text takes fewer bits, and the next page of it is finer.
    @Test func whatPagesTakeIsLearnt() throws {
        var budget = budget(.vp8, linkRate: 1_000_000)
        let first = try news(in: &budget, at: .seconds(10))
        for page in 1...6 {
            let now = Instant.seconds(10.0 * Double(page))
            let quantizer = try news(in: &budget, at: now)
            let size = Int(Double(Self.blocks) * VideoCodec.vp8.textBytes(quantizer) / 3)
            budget.note(size, quantizer: quantizer, blocks: Self.blocks, isNews: true, at: now)
        }
        let last = try news(in: &budget, at: .seconds(100))
        #expect(last < first - 8)
    }

    @Test func refinementTakesItsTurnInShortParts() throws {
        var budget = budget(.vp8, linkRate: 300_000)
        var now = Instant.seconds(10)
        let quantizer = try news(in: &budget, at: now)
        let size = Int(Double(Self.blocks) * VideoCodec.vp8.textBytes(quantizer))
        budget.note(size, quantizer: quantizer, blocks: Self.blocks, isNews: true, at: now)
        let busyUntil = now + .seconds(Double(size) * 8 / 300_000)
        #expect(budget.refinement(of: quantizer, at: now + .milliseconds(50)) == nil)
        now = busyUntil
        let coarse = try #require(budget.refinement(of: quantizer, at: now))
        #expect(coarse.quantizer == VideoCodec.vp8.clearQuantizer)
        let bytes = Double(coarse.blocks) * VideoCodec.vp8.textBytes(coarse.quantizer)
        #expect(0.5 * 3750...1.5 * 3750 ~= bytes)
        #expect(try #require(budget.refinement(of: 32, at: now)).quantizer == VideoCodec.vp8.sharpQuantizer)
    }

    /// Parts of an empty page cost nothing; the first part of the next page is no larger for that.
    @Test func anEmptyPageDoesNotMakePartsLarge() throws {
        var budget = budget(.av1, linkRate: 300_000)
        var now = Instant.seconds(10)
        let share = 300_000 / 8 * 0.1
        func bytes(_ part: (quantizer: Int, blocks: Int)) -> Double {
            Double(part.blocks) * VideoCodec.av1.textBytes(part.quantizer)
        }
        budget.note(1000, quantizer: 50, blocks: Self.blocks, isNews: true, at: now)
        now += .seconds(1)
        for _ in 0..<20 {
            let part = try #require(budget.refinement(of: 50, at: now))
            #expect(bytes(part) <= 4.1 * share)
            budget.note(50, quantizer: part.quantizer, blocks: part.blocks, isNews: false, at: now)
            now += .milliseconds(33)
        }
        budget.note(1000, quantizer: 50, blocks: Self.blocks, isNews: true, at: now)
        let first = try #require(budget.refinement(of: 50, at: now + .seconds(1)))
        #expect(bytes(first) <= 1.3 * share)
    }

    /// What moves is not refined between its frames.
    @Test func nothingIsRefinedBetweenNews() {
        var budget = budget(.vp8, linkRate: 1_000_000)
        for frame in 0..<10 {
            let now = Instant.seconds(10) + .milliseconds(50) * frame
            budget.note(100, quantizer: 50, blocks: 10, isNews: true, at: now)
            if frame > 0 { #expect(budget.refinement(of: 50, at: now + .milliseconds(45)) == nil) }
        }
        #expect(budget.refinement(of: 50, at: .seconds(11)) != nil)
    }

    /// On a good link, pages that follow each other take no more than the bitrate.
    @Test func creditRunsOut() {
        var budget = budget(.vp8, linkRate: 10_000_000)
        var (now, bytes) = (Instant.seconds(10), 0)
        for _ in 0..<100 {
            if let quantizer = budget.newsQuantizer(Self.blocks, isKeyframe: true, at: now) {
                let size = Int(Double(Self.blocks) * VideoCodec.vp8.textBytes(quantizer))
                budget.note(size, quantizer: quantizer, blocks: Self.blocks, isNews: true, at: now)
                bytes += size
            }
            now += .milliseconds(100)
        }
        #expect(Double(bytes) * 8 / 10 <= 1.2 * Double(Self.bitrate))
    }
}
