import TestSupport
import Testing
import Time

@testable import Access

@Suite struct NetworkAllowanceTests {
    @Test func whatIsLeftIsGiven() {
        var allowance = NetworkAllowance(limit: 5, recovery: .seconds(1))
        #expect(allowance.take(3, from: "192.0.2.1", now: .seconds(0)) == 3)
        #expect(allowance.take(3, from: "192.0.2.1", now: .seconds(0)) == 2)
        #expect(allowance.take(3, from: "192.0.2.1", now: .seconds(0)) == 0)
        #expect(allowance.take(0, from: "192.0.2.2", now: .seconds(0)) == 0)
        #expect(allowance.uses.count == 1)
        #expect(allowance.take(9, from: "192.0.2.1", now: .seconds(2)) == 2)
        #expect(allowance.wait(of: "192.0.2.1", now: .seconds(2)) == 2)
        #expect(allowance.take(9, from: "192.0.2.1", now: .seconds(100)) == 5)
    }
}
