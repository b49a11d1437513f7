import Testing
import Time

@Suite struct BackoffTests {
    @Test func eachWaitIsTwiceAsLongUpToTheLimit() {
        var backoff = Backoff(.milliseconds(50)...(.milliseconds(500)))
        let waits = (1...6).map { _ in backoff.fail() }
        #expect(waits == [50, 100, 200, 400, 500, 500].map { Duration.milliseconds($0) })
    }

    @Test func eachWaitIsLongerByAQuarterUpToTheLimit() {
        var backoff = Backoff(.milliseconds(500)...(.seconds(1)), growingBy: 25)
        let waits = (1...6).map { _ in backoff.fail() }
        #expect(
            waits == [500_000, 625_000, 781_250, 976_562.5, 1_000_000, 1_000_000].map { Duration.microseconds($0) }
        )
    }

    @Test func aSuccessForgetsFailures() {
        let fresh = Backoff(.seconds(1)...(.seconds(8)))
        var backoff = fresh
        for _ in 1...5 { _ = backoff.fail() }
        #expect(backoff != fresh)
        backoff.succeed()
        #expect(backoff == fresh)
        #expect(backoff.fail() == .seconds(1))
    }
}
