import HTTP
import Testing

@Suite struct NetworkAllowanceTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func whatIsLeftIsGiven() {
        var allowance = NetworkAllowance(limit: 5, recovery: Self.second)
        #expect(allowance.take(3, from: "192.0.2.1", now: 0) == 3)
        #expect(allowance.take(3, from: "192.0.2.1", now: 0) == 2)
        #expect(allowance.take(3, from: "192.0.2.1", now: 0) == 0)
        #expect(allowance.take(0, from: "192.0.2.2", now: 0) == 0)
        #expect(allowance.networkCount == 1)
        #expect(allowance.take(9, from: "192.0.2.1", now: 2 * Self.second) == 2)
        #expect(allowance.wait(of: "192.0.2.1", now: 2 * Self.second) == 2)
        #expect(allowance.take(9, from: "192.0.2.1", now: 100 * Self.second) == 5)
    }
}
