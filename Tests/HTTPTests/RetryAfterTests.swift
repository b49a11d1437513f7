import NIOHTTP1
import TestSupport
import Testing

@testable import HTTP

@Suite struct RetryAfterTests {
    /// RFC 9110 §5.6.7, whose three forms are one instant, and days at the ends of months and years.
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799), ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Sun, 28 Feb 2100 12:00:00 GMT", 4_107_499_200),
            ("Mon, 01 Mar 2100 12:00:00 GMT", 4_107_585_600), ("Wed, 31-Dec-69 23:59:59 GMT", 3_155_759_999),
            ("", nil), ("Sun, 06 Nov 1994 08:49:37", nil), ("Sun, 06 Nov 1994 08:49:37 CET", nil),
            ("Sun, 32 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nop 1994 08:49:37 GMT", nil),
            ("Sun, 06 Nov 1994 24:49:37 GMT", nil), ("Sun, 06 Nov 1994 08:49 GMT", nil),
            ("Sun, 06 Nov +994 08:49:37 GMT", nil), ("Sun, 06 Nov 99999 08:49:37 GMT", nil),
        ] as [(String, Int?)]
    )
    func datesAreRead(text: String, seconds: Int?) { #expect(HTTPDate.seconds(parsing: text) == seconds) }

    @Test(
        arguments: [
            ("120", 120), (" 0 ", 0), ("99999999999999999999", Int(UInt32.max)), ("Sun, 06 Nov 1994 08:49:37 GMT", 37),
            ("Sun, 06 Nov 1994 08:48:59 GMT", 0), ("-1", nil), ("+1", nil), ("1.5", nil), ("soon", nil), ("", nil),
        ] as [(String, Int?)]
    )
    func theWaitIsRead(field: String, seconds: Int?) {
        #expect(RetryAfter.delay(field, answeredAt: 784_111_740) == seconds.map { .seconds($0) })
    }

    /// The server's own clock counts, where it tells that.
    @Test func datesAreThoseOfTheServersClock() {
        func response(_ date: String?) -> WebClient.Response {
            var response = WebClient.Response(status: 503, headers: [:], body: [], receivedAt: 784_111_700)
            response.headers.add(name: "Retry-After", value: "Sun, 06 Nov 1994 08:49:37 GMT")
            if let date { response.headers.add(name: "Date", value: date) }
            return response
        }
        #expect(response("Sun, 06 Nov 1994 08:49:07 GMT").retryAfter == .seconds(30))
        #expect(response(nil).retryAfter == .seconds(77))
        #expect(response("today").retryAfter == .seconds(77))
    }

    /// Whatever stands there, a wait is none or not negative.
    @Test(arguments: 0..<50) func damagedFieldsAreBorne(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let tokens = [":", ",", "-", " ", "9999", "GMT", "Feb", "00", "é", "\0"].map { Array($0.utf8) }
        for _ in 0..<200 {
            var bytes = Array("Sunday, 06-Nov-94 08:49:37 GMT".utf8)
            bytes.damage(tokens, using: &random)
            let text = String(decoding: bytes, as: UTF8.self)
            if let delay = RetryAfter.delay(text, answeredAt: 0) { #expect(delay >= .zero, "\(text)") }
        }
    }
}
