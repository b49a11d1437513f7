import Calls
import RTP
import TestSupport
import Testing

/// Limits of a connection, and bytes that are no HTTP.
@Suite struct HTTPConnectionTests {
    private let web: WebFixture

    init() throws { web = try WebFixture() }

    @Test func requestsOneAfterAnotherAreAnsweredInOrder() throws {
        let client = try web.connect()
        let requests = ["/api/status", "/nowhere", "/oriel.css"].map { path in
            "GET \(path) HTTP/1.1\r\nHost: x\r\n\(WebFixture.authorization)\r\n\r\n"
        }
        client.send(requests.joined())
        #expect(try (0..<3).map { _ in try client.response().status } == [200, 404, 200])
        // Byte by byte it is the same.
        for byte in requests[0].utf8 { client.send([byte]) }
        #expect(try client.response().status == 200)
    }

    @Test func connectionsEndWhenTheClientAsksForIt() throws {
        for head in ["HTTP/1.1\r\nHost: x\r\nConnection: close", "HTTP/1.0"] {
            let client = try web.connect()
            client.send("GET /icon.svg \(head)\r\n\r\n")
            let response = try client.response()
            #expect(response.status == 200)
            #expect(response["connection"] == "close")
            #expect(try client.rest().isEmpty)
        }
    }

    @Test func whoHasSaidAllStillGetsTheAnswer() throws {
        let post = "POST /whep HTTP/1.1\r\nHost: x\r\n\(WebFixture.authorization)\r\n\(WebFixture.sdp)\r\n"
        let offer = "Content-Length: \(WebFixture.offer.utf8.count)\r\n\r\n\(WebFixture.offer)"
        for (request, status) in [("GET /icon.svg HTTP/1.1\r\nHost: x\r\n\r\n", 200), (post + offer, 201)] {
            let client = try web.connect()
            client.send(request)
            client.finish()
            #expect(try client.response().status == status)
            #expect(try client.rest().isEmpty)
        }
    }

    /// RFC 9112 §3.2.
    @Test func aRequestNamesOneHost() throws {
        for hosts in ["", "Host: a\r\nHost: b\r\n"] {
            let client = try web.connect()
            client.send("GET / HTTP/1.1\r\n\(hosts)\r\n")
            #expect(try client.response().status == 400)
        }
    }

    /// RFC 9112 §3.2.2: the host of the target counts.
    @Test func aTargetMayBeAbsolute() throws {
        let open = try WebFixture(token: nil)
        for (target, status) in [
            ("http://127.0.0.1:8080/api/status?x", 200), ("HTTP://localhost", 200), ("http://elsewhere.example/", 421),
            ("http://localhost/nowhere", 404), ("http://", 421),
        ] {
            let client = try open.connect()
            #expect(try client.request("GET", target, ["Host: localhost"]).status == status, "\(target)")
        }
    }

    /// RFC 9110 §10.1.1.
    @Test(arguments: ["100-continue", "100-Continue"])
    func whoWaitsForLeaveToSendABodyGetsIt(expectation: String) throws {
        let client = try web.connect()
        let head = "POST /whep HTTP/1.1\r\nHost: x\r\n\(WebFixture.authorization)\r\n\(WebFixture.sdp)\r\n"
        client.send("\(head)Content-Length: \(WebFixture.offer.utf8.count)\r\nExpect: \(expectation)\r\n\r\n")
        #expect(try client.response(hasBody: false).status == 100)
        client.send(WebFixture.offer)
        #expect(try client.response().status == 201)
        let long = try web.connect()
        long.send("\(head)Content-Length: 65537\r\nExpect: \(expectation)\r\n\r\n")
        #expect(try long.response().status == 413)
    }

    @Test(arguments: ["GET", "CONNECT"])
    func afterAWishForAnotherProtocolTheConnectionEnds(method: String) throws {
        let client = try web.connect()
        let target = method == "GET" ? "/icon.svg" : "localhost:80"
        let response = try client.request(method, target, ["Connection: Upgrade", "Upgrade: h2c"])
        #expect(response.status == (method == "GET" ? 200 : 404))
        #expect(response.all("connection") == ["close"])
        #expect(try client.rest().isEmpty)
    }

    @Test(arguments: [false, true])
    func whoHasSaidAllHearsOfEventsToo(onlyOnceTheyCome: Bool) throws {
        let client = try web.connect()
        client.send("GET /api/events HTTP/1.1\r\nHost: x\r\n\(WebFixture.authorization)\r\n\r\n")
        if !onlyOnceTheyCome { client.finish() }
        _ = try client.response(hasBody: false)
        #expect(try client.event().contains("\"active\""))
        if onlyOnceTheyCome { client.finish() }
        web.service.setState("paused")
        #expect(try client.event().contains("\"paused\""))
    }

    /// Where there are no chunks, events come as they are.
    @Test func eventsReachClientsOfHTTP10() throws {
        let client = try web.connect()
        client.send("GET /api/events HTTP/1.0\r\n\(WebFixture.authorization)\r\n\r\n")
        let event = "\r\n\r\ndata: {"
        let text = String(decoding: try client.rest(through: "data: {"), as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.0 200 OK\r\n"))
        #expect(text.contains(event), "no chunk begins there")
        #expect(!text.lowercased().contains("chunked"))
    }

    @Test func aHeadThatIsTooLongIsRefused() throws {
        let client = try web.connect()
        let fits = "X-Long: " + String(repeating: "x", count: 15 * 1024)
        #expect(try client.request("GET", "/api/status", [WebFixture.authorization, fits]).status == 200)
        let field = "X-Longer: " + String(repeating: "x", count: 16 * 1024)
        let response = try client.request("GET", "/api/status", [WebFixture.authorization, field])
        #expect(response.status == 431)
        #expect(response["connection"] == "close")
        #expect(try client.rest().isEmpty)
        let path = try web.connect()
        #expect(try path.request("GET", "/" + String(repeating: "y", count: 17 * 1024)).status == 431)
        let many = (0..<200).map { "X-\($0): " + String(repeating: "z", count: 80) }
        #expect(try web.connect().request("GET", "/", many).status == 431)
    }

    @Test func aHeadWithoutEndIsCutOff() throws {
        let client = try web.connect()
        client.send("GET / HTTP/1.1\r\nX-Endless: " + String(repeating: "x", count: 1 << 20))
        #expect(try client.rest().starts(with: Array("HTTP/1.1 4".utf8)))
    }

    @Test func aBodyThatIsTooLongIsRefusedBeforeItIsThere() throws {
        let announced = try web.connect()
        let head = "POST /whep HTTP/1.1\r\nHost: x\r\n\(WebFixture.authorization)\r\n\(WebFixture.sdp)\r\n"
        announced.send("\(head)Content-Length: 65537\r\n\r\n")
        #expect(try announced.response().status == 413)
        #expect(try announced.rest().isEmpty)
        let chunked = try web.connect()
        chunked.send("\(head)Transfer-Encoding: chunked\r\n\r\n")
        let chunk = "1000\r\n\(String(repeating: "x", count: 4096))\r\n"
        for _ in 0..<17 { chunked.send(chunk) }
        #expect(try chunked.response().status == 413)
        #expect(try chunked.rest().isEmpty)
        let largest = try web.connect()
        largest.send("\(head)Content-Length: 65536\r\n\r\n\(String(repeating: "x", count: 65536))")
        #expect(try largest.response().status == 400, "it is read, and is no offer")
    }

    @Test func aBodyMayComeInChunks() throws {
        let client = try web.connect()
        client.send("POST /whep HTTP/1.1\r\nHost: x\r\n\(WebFixture.authorization)\r\n\(WebFixture.sdp)\r\n")
        client.send("Transfer-Encoding: chunked\r\n\r\n")
        for byte in WebFixture.offer.utf8 { client.send([0x31, 13, 10, byte, 13, 10]) }
        client.send("0\r\n\r\n")
        #expect(try client.response().status == 201)
    }

    @Test(arguments: [
        "nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET  HTTP/1.1\r\n\r\n", "\0\0\0\0\0\0\0\0\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", "GET / HTTP/1.1\r\n: x\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ])
    func whatIsNoHTTPIsCutOff(text: String) throws {
        let client = try web.connect()
        client.send(text)
        let rest = try client.rest()
        #expect(rest.isEmpty || rest.starts(with: Array("HTTP/1.1 4".utf8)), "\(String(decoding: rest, as: UTF8.self))")
        #expect(try web.request("GET", "/api/status").status == 200)
    }

    @Test(arguments: ["", "GET /api/sta", "POST /whep HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nv=0\r\n"])
    func whoFallsSilentIsCutOff(text: String) throws {
        let impatient = try WebFixture(requestTimeout: .milliseconds(50))
        let client = try impatient.connect()
        client.send(text)
        #expect(try client.rest().isEmpty)
        #expect(try impatient.request("GET", "/api/status").status == 200)
    }

    @Test func damagedRequestsAreAnsweredOrCutOff() throws {
        let open = try WebFixture(token: nil)
        var random = SplitMix64(seed: 12)
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
