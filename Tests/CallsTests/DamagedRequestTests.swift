import TestSupport
import Testing

@Suite struct DamagedRequestTests {
    @Test func damagedRequestsAreAnsweredOrCutOff() throws {
        let open = try WebFixture(token: nil)
        var random = SplitMix(seed: 12)
        let patch =
            "PATCH /whep/0 HTTP/1.1\r\nHost: localhost\r\n\(WebFixture.fragment)\r\nIf-Match: \"x\"\r\nContent-Length: 10\r\n\r\na=mid:0\r\n\n"
        let length = WebFixture.offer.utf8.count
        let requests = [
            "GET /api/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n",
            "POST /whep HTTP/1.1\r\nHost: localhost\r\n\(WebFixture.sdp)\r\nContent-Length: \(length)\r\n\r\n\(WebFixture.offer)",
            "POST /whep HTTP/1.1\r\nHost: [::1]:80\r\n\(WebFixture.sdp)\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nv=0\r\n\r\n0\r\n\r\n",
            patch,
            "GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*;q=0\r\n\r\n",
            "DELETE /whep/0 HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n\r\n",
        ].map { Array($0.utf8) }
        let words = ["\r\n", "\r\n\r\n", "Content-Length: 9", "OPTIONS ", "HEAD ", "%00", "../", "é", ":", "*", "\0"]
        let tokens = words.map { Array($0.utf8) } + requests
        for _ in 0..<1500 {
            var request = requests.randomElement(using: &random)!
            request.damage(tokens, using: &random)
            let client = try open.connect()
            client.send(request)
            client.finish()
            // Events go on for ever.
            let rest = try client.rest(through: "data: {")
            #expect(rest.isEmpty || rest.starts(with: Array("HTTP/1.".utf8)))
        }
        #expect(try open.connect().request("GET", "/api/status").status == 200)
    }
}
