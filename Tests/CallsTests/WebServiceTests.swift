import Calls
import Media
import Synchronization
import TestSupport
import Testing

@Suite struct WebServiceTests {
    private let web: WebFixture

    init() throws { web = try WebFixture() }

    /// Invariant: token.
    @Test(arguments: ["/whep", "/whep/0123", "/snapshot.png", "/api/status", "/api/events"])
    func withoutTheTokenNothingIsShown(path: String) throws {
        let client = try web.connect()
        for fields in [[], ["Authorization: Bearer guess"], ["Authorization: Basic \(WebFixture.token)"]] {
            let response = try client.request("GET", path, fields)
            #expect(response.status == 401)
            #expect(response["www-authenticate"] == "Bearer")
        }
    }

    @Test func whoGuessesTooOftenIsToldToStop() throws {
        let client = try web.connect()
        for _ in 0..<10 {
            #expect(try client.request("GET", "/api/status", ["Authorization: Bearer guess"]).status == 401)
        }
        let response = try client.request("GET", "/api/status", ["Authorization: Bearer guess"])
        #expect(response.status == 429)
        #expect(response["retry-after"].flatMap { Int($0) }.map { 1...7 ~= $0 } == true)
        #expect(try client.request("GET", "/api/status", [WebFixture.authorization]).status == 200)
    }

    @Test func methodsThatAPathDoesNotTakeAreRefused() throws {
        for (method, path, allowed) in [
            ("PUT", "/whep", "GET, HEAD, POST, OPTIONS"), ("POST", "/snapshot.png", "GET, HEAD, OPTIONS"),
            ("DELETE", "/api/status", "GET, HEAD, OPTIONS"), ("HEAD", "/api/events", "GET, OPTIONS"),
            ("POST", "/", "GET, HEAD, OPTIONS"), ("BREW", "/whep", "GET, HEAD, POST, OPTIONS"),
        ] {
            // A method that HTTP's parser does not know gets no further.
            let response = try web.request(method, path)
            #expect(response.status == (method == "BREW" ? 400 : 405), "\(method) \(path)")
            if method != "BREW" { #expect(response["allow"] == allowed) }
        }
        #expect(try web.request("GET", "/nowhere").status == 404)
        #expect(try web.request("GET", "/whep2").status == 404)
    }

    @Test func whatAnOptionsRequestNamesIsTaken() throws {
        for (path, allowed) in [
            ("/whep", "GET, HEAD, POST, OPTIONS"), ("/whep/0123", "PATCH, DELETE, OPTIONS"),
            ("/api/status", "GET, HEAD, OPTIONS"), ("/", "GET, HEAD, OPTIONS"), ("/api/events", "GET, OPTIONS"),
            ("*", "OPTIONS"),
        ] {
            // Browsers ask without the token.
            let response = try web.connect().request("OPTIONS", path)
            #expect(response.status == 200, "\(path)")
            #expect(response["allow"] == allowed, "\(path)")
            #expect(response["access-control-allow-origin"] == "*")
            #expect(response["access-control-allow-methods"] == "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
            let headers = "Accept, Authorization, Content-Type, If-Match, Oriel-Lease"
            #expect(response["access-control-allow-headers"] == headers)
            #expect(response.all("link").isEmpty)
        }
        #expect(try web.connect().request("OPTIONS", "/nowhere").status == 404)
    }

    @Test func whoAsksForOptionsWithTheTokenLearnsTheICEServers() throws {
        #expect(try web.request("OPTIONS", "/whep").all("link") == WebFixture.links)
        #expect(try web.request("OPTIONS", "/api/status").all("link").isEmpty)
        let guess = try web.connect().request("OPTIONS", "/whep", ["Authorization: Bearer guess"])
        #expect(guess.status == 401)
        #expect(guess.all("link").isEmpty)
        let open = try WebFixture(token: nil)
        #expect(try open.connect().request("OPTIONS", "/whep").all("link") == WebFixture.links)
    }

    private static let exposed =
        "Accept-Patch, Accept-Post, ETag, Link, Location, Oriel-Lease, Oriel-Reason, Retry-After, WWW-Authenticate"

    @Test func otherOriginsNeedAToken() throws {
        let status = try web.request("GET", "/api/status")
        #expect(status["access-control-allow-origin"] == "*")
        #expect(status["access-control-expose-headers"] == Self.exposed)
        let open = try WebFixture(token: nil)
        for method in ["GET", "OPTIONS"] {
            let response = try open.connect().request(method, "/api/status")
            #expect(response.status == 200)
            #expect(response.fields.allSatisfy { !$0.name.hasPrefix("access-control-allow") })
        }
        #expect(try open.connect().request("POST", "/whep", [WebFixture.sdp], body: WebFixture.offer).status == 201)
    }

    @Test func theEndpointTellsPlayersWhatItIs() throws {
        for method in ["GET", "HEAD"] {
            let response = try web.request(method, "/whep")
            #expect(response.status == 200)
            #expect(response["content-type"] == "application/sdp")
        }
    }

    @Test func theStatusIsJSON() throws {
        let response = try web.request("GET", "/api/status?x=1")
        #expect(response["content-type"] == "application/json")
        #expect(response.text == "{\"state\":\"active\",\"viewers\":0}\n")
    }

    @Test func aSnapshotIsShownIfThereIsOne() throws {
        let response = try web.request("GET", "/snapshot.png")
        #expect(response.status == 200)
        #expect(response["content-type"] == "image/png")
        #expect(response.body == WebFixture.png)
        let head = try web.request("HEAD", "/snapshot.png")
        #expect(head["content-length"] == "4")
    }

    /// Nobody sees what was paused.
    @Test func whoComesAfterAPauseGetsNoSnapshotFromBefore() throws {
        #expect(try web.request("GET", "/snapshot.png").body == WebFixture.png)
        web.picture.bytes.withLock { $0 = [1] }
        // Paused, and going on again.
        web.picture.horizon.store(5, ordering: .relaxed)
        web.picture.captureTime.store(6, ordering: .relaxed)
        #expect(try web.request("GET", "/snapshot.png").body == [1])
    }

    /// It may come when the picture is taken already.
    /// Invariant: paused.
    @Test func aSnapshotFromBeforeAPauseIsThrownAway() throws {
        web.picture.horizon.store(5, ordering: .relaxed)
        web.picture.captureTime.store(4, ordering: .relaxed)
        #expect(try web.request("GET", "/snapshot.png").status == 503)
        #expect(web.picture.count.load(ordering: .relaxed) == 3)
    }

    @Test func allWhoWaitGetOneSnapshot() throws {
        let clients = try (0..<20).map { _ in try web.connect() }
        web.picture.bytes.withLock { _ in
            for client in clients {
                client.send("GET /snapshot.png HTTP/1.1\r\nHost: x\r\n\(WebFixture.authorization)\r\n\r\n")
            }
            // An answer to this one shows that those before it have arrived.
            let status = try? web.request("GET", "/api/status").status
            #expect(status == 200)
        }
        for client in clients { #expect(try client.response().body == WebFixture.png) }
        #expect(web.picture.count.load(ordering: .relaxed) == 1)
    }

    @Test func whereThereIsNoSnapshotAReasonIsGiven() throws {
        web.picture.bytes.withLock { $0 = nil }
        let none = try web.request("GET", "/snapshot.png")
        #expect(none.status == 503)
        #expect(none.text == "there is no picture yet\n")
        #expect(none["retry-after"] == "1")
    }

    @Test(arguments: [
        ("/", "text/html"), ("/index.html", "text/html"), ("/common.css", "text/css"), ("/oriel.css", "text/css"),
        ("/oriel.js", "text/javascript"), ("/session.js", "text/javascript"), ("/ice-servers.js", "text/javascript"),
        ("/knock.js", "text/javascript"), ("/picture.js", "text/javascript"), ("/controls.js", "text/javascript"),
        ("/playback.js", "text/javascript"), ("/sender.js", "text/javascript"), ("/doubt.js", "text/javascript"),
        ("/time.js", "text/javascript"),
        ("/statistics.js", "text/javascript"), ("/sound.js", "text/javascript"), ("/talk.js", "text/javascript"),
        ("/record.js", "text/javascript"), ("/lease.js", "text/javascript"), ("/zoom.js", "text/javascript"),
        ("/follow.js", "text/javascript"),
        ("/command.js", "text/javascript"),
        ("/icon.svg", "image/svg+xml"),
        ("/?query", "text/html"),
    ])
    func thePageNeedsNoTokenAndLoadsNothingFromElsewhere(path: String, type: String) throws {
        let client = try web.connect()
        let response = try client.request("GET", path)
        #expect(response.status == 200)
        #expect(response["content-type"] == "\(type); charset=utf-8")
        #expect(!response.body.isEmpty)
        #expect(response["content-length"] == "\(response.body.count)")
        let policy = try #require(response["content-security-policy"])
        #expect(policy.hasPrefix("default-src 'none'; script-src 'self';"))
        #expect(!policy.contains("unsafe"))
        #expect(response["x-content-type-options"] == "nosniff")
        let head = try client.request("HEAD", path)
        #expect(head["content-length"] == response["content-length"])
        #expect(try client.request("GET", path).status == 200, "no body came with HEAD")
    }

    @Test func whoListensHearsOfEachChange() throws {
        let client = try web.connect()
        let response = try client.request("GET", "/api/events", [WebFixture.authorization])
        #expect(response.status == 200)
        #expect(response["content-type"] == "text/event-stream")
        #expect(try client.chunk() == "data: {\"state\":\"active\",\"viewers\":0}\n\n")
        web.status.note(.active)
        web.status.note(.paused)
        #expect(try client.chunk() == "data: {\"state\":\"paused\",\"viewers\":0}\n\n", "equal ones are one")
        let second = try web.connect()
        _ = try second.request("GET", "/api/events", [WebFixture.authorization])
        #expect(try second.chunk() == "data: {\"state\":\"paused\",\"viewers\":0}\n\n")
        web.status.note(.stopped)
        for listener in [client, second] {
            #expect(try listener.chunk() == "data: {\"state\":\"stopped\",\"viewers\":0}\n\n")
        }
    }
}
