import TestSupport
import Testing
import Time

@testable import HTTP

@Suite struct FrameBudgetTests {
    @Test func framesComeInBurstsAndAtARate() {
        var budget = FrameBudget()
        var now = Instant.seconds(5)
        #expect((0..<5000).count { _ in budget.take(now: now) } == 1000)
        // A second brings as many again, and an idle hour no more.
        now = now + .milliseconds(100)
        #expect((0..<5000).count { _ in budget.take(now: now) } == 100)
        now = now + .seconds(3600)
        #expect((0..<5000).count { _ in budget.take(now: now) } == 1000)
    }
}
