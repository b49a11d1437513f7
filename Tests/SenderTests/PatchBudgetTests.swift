import TestSupport
import Testing
import Time

@testable import Sender

extension PatchBudgetTests {
    /// Also at a low rate, at which a patch of all that could be polished would take seconds.
    @Test(arguments: [30_000, 300_000, 2_500_000], [20, 50, 300])
    func polishingTakesWhatTheRateAllows(bitrate: Int, bytesPerBlock: Int) {
        var budget = PatchBudget(bitrate: bitrate)
        var (now, bytes, largest) = (Instant.seconds(1), 0, 0)
        for _ in 0..<300 {
            now += .seconds(1) / 30
            let blocks = max(1, budget.mostPolished(at: now))
            guard budget.limit(min(blocks, 120), at: now) != nil else { continue }
            let size = min(blocks, 120) * bytesPerBlock
            budget.note(size)
            bytes += size
            largest = max(largest, size)
        }
        let (second, burst) = (bitrate / 8, bitrate / 8 / 4)
        #expect(bytes > min(second * 10 / 2, 300 * 120 * bytesPerBlock / 2))
        #expect(bytes <= second * 10 + burst + largest)
        #expect(largest <= burst * max(64, bytesPerBlock) / 64)
    }
}
