import Testing

@testable import Sound

@Suite struct ReportCheckTests {
    @Test func aServerThatLosesCountIsGivenUp() {
        var check = ReportCheck()
        func take(_ recorded: Int64, _ sent: Int64) -> ReportCheck.Verdict {
            check.take(recorded: recorded, sent: sent, mostAhead: 1000)
        }
        #expect(take(5000, 4000) == .ahead(1000) && take(5000, 5000) == .ahead(0))
        #expect(take(4999, 5000) == .wrong && take(6001, 5000) == .hopeless)
        // The stream has ended then, and if not, it is told once.
        #expect(take(.min, .max) == .wrong)
    }

    @Test func oneWrongReportDoesNotMatter() {
        var check = ReportCheck()
        for _ in 0..<9 {
            #expect(check.take(recorded: 0, sent: 1, mostAhead: 9) == .wrong)
            #expect(check.take(recorded: 1, sent: 1, mostAhead: 9) == .ahead(0))
        }
    }
}
