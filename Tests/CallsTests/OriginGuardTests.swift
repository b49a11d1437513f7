import HTTP
import TestSupport
import Testing

/// What keeps pages of other origins out of a service without a token.
@Suite struct OriginGuardTests {
    private let open: WebFixture

    init() throws { open = try WebFixture(token: nil, names: ["Screen.example"]) }

    @Test(arguments: [
        "localhost", "localhost:8080", "LocalHost", "127.0.0.1", "192.0.2.1:80", "[::1]", "[2001:db8::1]:8080",
        "screen.example", "SCREEN.example:8080",
    ])
    func itsOwnNamesAreTaken(host: String) throws {
        for path in ["/", "/api/status"] {
            let response = try open.connect().request("GET", path, ["Host: \(host)"])
            #expect(response.status == 200)
            #expect(response["cross-origin-resource-policy"] == "same-origin")
        }
    }

    @Test(arguments: [
        "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "screen.example.org",
        "", ":80", "::1", "[127.0.0.1]", "[localhost]", "[::1", "[::1]x", "localhost:x", "127.1", "2130706433",
    ])
    func otherNamesAreRefused(host: String) throws {
        for (method, path) in [("GET", "/"), ("GET", "/snapshot.png"), ("OPTIONS", "/whep"), ("GET", "/nowhere")] {
            #expect(try open.connect().request(method, path, ["Host: \(host)"]).status == 421, "\(method) \(path)")
        }
        let closed = try WebFixture()
        let fields = ["Host: \(host)", WebFixture.authorization]
        #expect(try closed.connect().request("GET", "/api/status", fields).status == 200, "the token decides")
    }

    /// RFC 9112 §3.2.2: the host of the target counts.
    @Test func theHostOfAnAbsoluteTargetCounts() throws {
        for (target, status) in [
            ("http://127.0.0.1:8080/api/status?x", 200), ("HTTP://localhost", 200), ("http://elsewhere.example/", 421),
            ("http://localhost/nowhere", 404), ("http://", 421),
        ] {
            #expect(try open.connect().request("GET", target, ["Host: localhost"]).status == status, "\(target)")
        }
    }

    @Test func aNameIsNeeded() throws {
        let client = try open.connect()
        client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(try client.response().status == 421)
    }

    /// Invariant: token.
    @Test(arguments: [
        ("http://localhost:8080", 201), ("https://LOCALHOST:8080", 201), ("http://evil.example", 403), ("null", 403),
        ("http://localhost", 403), ("http://localhost:80801", 403), ("localhost:8080", 403),
    ])
    func pagesOfOtherOriginsChangeNothing(origin: String, status: Int) throws {
        let fields = ["Host: localhost:8080", "Origin: \(origin)", WebFixture.sdp]
        #expect(try open.connect().request("POST", "/whep", fields, body: WebFixture.offer).status == status)
        let left = try open.connect().request("DELETE", "/whep/0", fields)
        #expect(left.status == (status == 201 ? 404 : 403))
        #expect(try open.connect().request("GET", "/api/status", fields).status == 200)
        #expect(try WebFixture().request("POST", "/whep", fields, body: WebFixture.offer).status == 201)
    }

    @Test func pagesOfAllowedOriginsDoAll() throws {
        let friend = try #require(WebOrigin(parsing: "https://Friend.example"))
        let web = try WebFixture(token: nil, origins: [friend])
        // A proxy at the friend's name may leave that in place.
        for host in ["localhost:8080", "friend.example", "FRIEND.example:8080"] {
            let fields = ["Host: \(host)", "Origin: https://friend.example"]
            let asked = try web.connect().request("OPTIONS", "/whep", fields + ["Access-Control-Request-Method: POST"])
            #expect(asked.status == 200)
            #expect(asked["access-control-allow-origin"] == "https://friend.example")
            #expect(asked["access-control-allow-methods"] == "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
            #expect(asked["vary"] == "Origin")
            let joined = try web.connect().request("POST", "/whep", fields + [WebFixture.sdp], body: WebFixture.offer)
            #expect(joined.status == 201)
            #expect(joined["access-control-allow-origin"] == "https://friend.example")
            #expect(joined["access-control-expose-headers"]?.contains("Location") == true)
            let left = try web.connect().request("DELETE", "/\(joined["location"] ?? "")", fields)
            #expect(left.status == 200)
        }
        for origin in [
            "https://friend.example.org", "http://friend.example", "https://friend.example:8443", "null", "*",
        ] {
            let fields = ["Host: localhost", "Origin: \(origin)"]
            let asked = try web.connect().request("OPTIONS", "/whep", fields)
            #expect(asked.fields.allSatisfy { !$0.name.hasPrefix("access-control-allow") }, "\(origin)")
            let refused = try web.connect().request("POST", "/whep", fields + [WebFixture.sdp], body: WebFixture.offer)
            #expect(refused.status == 403)
        }
        // A name that was made to lead here is still none of the server's.
        let fields = ["Host: evil.example", "Origin: https://friend.example"]
        #expect(try web.connect().request("GET", "/api/status", fields).status == 421)
    }
}
