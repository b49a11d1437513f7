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
        let quantizer = budget.newsQuantizer(Self.blocks, at: now)
        return try #require(quantizer)
    }

    @Test func withoutAMeasuredLinkRateControlDecides() {
        var budget = LinkBudget(.vp8, bitrate: Self.bitrate)
        #expect(!budget.isThin && budget.patchLimit == nil)
        let quantizer = budget.newsQuantizer(Self.blocks, at: .seconds(1))
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
            if let quantizer = budget.newsQuantizer(Self.blocks, at: now) {
                let size = Int(Double(Self.blocks) * VideoCodec.vp8.textBytes(quantizer))
                budget.note(size, quantizer: quantizer, blocks: Self.blocks, isNews: true, at: now)
                bytes += size
            }
            now += .milliseconds(100)
        }
        #expect(Double(bytes) * 8 / 10 <= 1.2 * Double(Self.bitrate))
    }
}
