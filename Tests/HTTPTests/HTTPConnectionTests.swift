import Glibc
import HTTP
import Posix
import TestSupport
import Testing

/// Limits of a connection, and bytes that are no HTTP.
@Suite struct HTTPConnectionTests {
    private static let text = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\n"
    private let web: HTTPFixture

    init() throws { web = try HTTPFixture() }

    @Test func requestsOneAfterAnotherAreAnsweredInOrder() throws {
        let client = try web.connect()
        let requests = ["/greeting", "/nowhere", "/greeting"].map { path in
            "GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n"
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
            client.send("GET /greeting \(head)\r\n\r\n")
            let response = try client.response()
            #expect(response.status == 200)
            #expect(response["connection"] == "close")
            #expect(try client.rest().isEmpty)
        }
    }

    @Test func whoHasSaidAllStillGetsTheAnswer() throws {
        let post = "POST /echo HTTP/1.1\r\nHost: x\r\n"
        let offer = "Content-Length: \(Self.text.utf8.count)\r\n\r\n\(Self.text)"
        for (request, status) in [("GET /greeting HTTP/1.1\r\nHost: x\r\n\r\n", 200), (post + offer, 201)] {
            let client = try web.connect()
            client.send(request)
            client.finish()
            #expect(try client.response().status == status)
            #expect(try client.rest().isEmpty)
        }
    }

    /// RFC 9112 §9.6: what the server has not read when it answers must not reset the connection.
    @Test(arguments: [
        ([0x16, 0x03, 0x01] + [UInt8](repeating: 0, count: 4000), 400),
        (
            Array("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n".utf8)
                + [UInt8](repeating: 0, count: 500_000), 413
        ),
    ])
    func aRefusalReachesWhoSendsOn(bytes: [UInt8], status: Int) throws {
        let client = try web.connect()
        client.send(bytes)
        #expect(try client.response().status == status)
        client.send(bytes)
        #expect(try client.rest().isEmpty)
    }

    /// A client that does not close its side keeps no place.
    @Test func aClientThatDoesNotCloseIsCutOff() throws {
        let client = try web.connect()
        client.send("GET /greeting HTTP/1.0\r\n\r\n")
        #expect(try client.response().status == 200)
        #expect(try client.rest().isEmpty)
        // What comes meanwhile is dropped, and answered by a reset after that.
        try wait(until: "it is cut off") { send(client.descriptor.raw, "x", 1, Int32(MSG_NOSIGNAL)) < 0 }
    }

    /// RFC 9112 §3.2.
    @Test func aRequestNamesOneHost() throws {
        for hosts in ["", "Host: a\r\nHost: b\r\n"] {
            let client = try web.connect()
            client.send("GET / HTTP/1.1\r\n\(hosts)\r\n")
            #expect(try client.response().status == 400)
        }
    }

    /// RFC 9110 §10.1.1.
    @Test(arguments: ["100-continue", "100-Continue"])
    func whoWaitsForLeaveToSendABodyGetsIt(expectation: String) throws {
        let client = try web.connect()
        let head = "POST /echo HTTP/1.1\r\nHost: x\r\n"
        client.send("\(head)Content-Length: \(Self.text.utf8.count)\r\nExpect: \(expectation)\r\n\r\n")
        #expect(try client.response(hasBody: false).status == 100)
        client.send(Self.text)
        #expect(try client.response().status == 201)
        let long = try web.connect()
        long.send("\(head)Content-Length: 65537\r\nExpect: \(expectation)\r\n\r\n")
        #expect(try long.response().status == 413)
    }

    @Test(arguments: ["GET", "CONNECT"])
    func afterAWishForAnotherProtocolTheConnectionEnds(method: String) throws {
        let client = try web.connect()
        let target = method == "GET" ? "/greeting" : "localhost:80"
        let response = try client.request(method, target, ["Connection: Upgrade", "Upgrade: h2c"])
        #expect(response.status == (method == "GET" ? 200 : 404))
        #expect(response.all("connection") == ["close"])
        #expect(try client.rest().isEmpty)
    }

    @Test(arguments: [false, true])
    func whoHasSaidAllHearsOfEventsToo(onlyOnceTheyCome: Bool) throws {
        let client = try web.connect()
        client.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
        if !onlyOnceTheyCome { client.finish() }
        _ = try client.response(hasBody: false)
        #expect(try client.event() == "data: first\n\n")
        if onlyOnceTheyCome { client.finish() }
        web.events.publish { "second" }
        #expect(try client.event() == "data: second\n\n")
    }

    /// Where there are no chunks, events come as they are.
    @Test func eventsReachClientsOfHTTP10() throws {
        let client = try web.connect()
        client.send("GET /events HTTP/1.0\r\n\r\n")
        let event = "\r\n\r\ndata: first"
        let text = String(decoding: try client.rest(through: "data: first"), as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.0 200 OK\r\n"))
        #expect(text.contains(event), "no chunk begins there")
        #expect(!text.lowercased().contains("chunked"))
    }

    @Test func aHeadThatIsTooLongIsRefused() throws {
        let client = try web.connect()
        let fits = "X-Long: " + String(repeating: "x", count: 15 * 1024)
        #expect(try client.request("GET", "/greeting", [fits]).status == 200)
        let field = "X-Longer: " + String(repeating: "x", count: 16 * 1024)
        let response = try client.request("GET", "/greeting", [field])
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

    @Test func aHeadOfTooManyFieldsIsCutOffBeforeItIsThere() throws {
        let client = try web.connect()
        let fields = (0..<40).map { "X-\($0): \(String(repeating: "x", count: 1000))\r\n" }
        client.send("GET / HTTP/1.1\r\n\(fields.joined())")
        #expect(try client.rest().starts(with: Array("HTTP/1.1 4".utf8)))
    }

    @Test func aBodyThatIsTooLongIsRefusedBeforeItIsThere() throws {
        let announced = try web.connect()
        let head = "POST /echo HTTP/1.1\r\nHost: x\r\n"
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
        #expect(try largest.response().body.count == 65536)
    }

    @Test func aBodyMayComeInChunks() throws {
        let client = try web.connect()
        client.send("POST /echo HTTP/1.1\r\nHost: x\r\n")
        client.send("Transfer-Encoding: chunked\r\n\r\n")
        for byte in Self.text.utf8 { client.send([0x31, 13, 10, byte, 13, 10]) }
        client.send("0\r\n\r\n")
        #expect(try client.response().text == Self.text)
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
        #expect(try web.request("GET", "/greeting").status == 200)
    }

    @Test(arguments: ["", "GET /api/sta", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nv=0\r\n"])
    func whoFallsSilentIsCutOff(text: String) throws {
        let impatient = try HTTPFixture(limits: HTTPLimits { $0.requestTimeout = .milliseconds(50) })
        let client = try impatient.connect()
        client.send(text)
        #expect(try client.rest().isEmpty)
        #expect(try impatient.request("GET", "/greeting").status == 200)
    }
}
