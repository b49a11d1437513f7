import Testing
import Time

@testable import Publishing

@Suite struct AttachedReaderTests {
    /// As when "oriel share" starts both: first nothing is there, then no picture.
    @Test func onlyAnObstacleThatStaysIsTold() {
        let looks: [(milliseconds: Int, obstacle: String, isTold: Bool)] = [
            (0, "no broadcast", false), (1999, "no broadcast", false), (2000, "no picture", false),
            (3999, "no picture", false),
            (4000, "no picture", true), (60_000, "no picture", false), (61_000, "no broadcast", false),
            (63_000, "no broadcast", true),
        ]
        var waiting = AttachedReader.Waiting()
        for look in looks {
            let isTold = waiting.mustTell(of: look.obstacle, at: .start + .milliseconds(look.milliseconds))
            #expect(isTold == look.isTold, "\(look)")
        }
    }
}
