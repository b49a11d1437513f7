import Calls
import HTTP
import Peers
import TestSupport
import Testing

/// Limits of the server and the service, behind a proxy and beside the media.
@Suite struct ClientLimitTests {
    /// Each of a proxy's clients has its own limits, and is known by its own address.
    @Test func limitsAreThoseOfTheClients() throws {
        let web = try WebFixture(
            limits: HTTPLimits { ($0.connections, $0.connectionsOfOneNetwork) = (64, 2) },
            proxies: [try #require(AddressRange(parsing: "127.0.0.0/8"))]
        )
        func request(_ client: String, _ path: String, _ fields: [String] = [WebFixture.authorization]) throws -> Int {
            try web.connect().request("GET", path, fields + ["X-Forwarded-For: \(client)"]).status
        }
        // More connections than one network may have.
        let open = try (0..<4).map { _ in try web.connect() }
        // They stay connected to the end.
        defer { withExtendedLifetime(open) {} }
        for number in 1...4 { #expect(try request("203.0.113.\(number)", "/api/status") == 200) }
        // Those that listen count as long as they do.
        for client in open.prefix(2) {
            let fields = [WebFixture.authorization, "X-Forwarded-For: 203.0.113.1"]
            #expect(try client.request("GET", "/api/events", fields).status == 200)
        }
        #expect(try request("203.0.113.1", "/api/status") == 429)
        #expect(try request("203.0.113.2", "/api/status") == 200)
        // Guesses are held against who made them.
        for _ in 0..<10 { #expect(try request("203.0.113.5", "/api/status", ["Authorization: Bearer guess"]) == 401) }
        #expect(try request("203.0.113.5", "/api/status", ["Authorization: Bearer guess"]) == 429)
        #expect(try request("203.0.113.6", "/api/status", ["Authorization: Bearer guess"]) == 401)
        let joined = try web.request(
            "POST",
            "/whep",
            [WebFixture.sdp, "X-Forwarded-For: 10.0.0.1, 203.0.113.7"],
            body: WebFixture.offer
        )
        #expect(joined.status == 201)
        // By the next round of the network thread it is in the list.
        #expect(try web.request("DELETE", "/whep/0").status == 404)
        #expect(web.places == ["203.0.113.7"])
    }

    @Test(arguments: [(1, 4 << 20), (50, 4 << 20), (64, 4 << 20), (1000, 1000 << 16)])
    func memoryForSlowReadersGrowsWithTheViewers(viewers: Int, unread: Int) {
        #expect(HTTPLimits(files: 1024, viewers: viewers).unread == unread)
    }

    @Test(arguments: [
        (1024, 50, 496, 100), (1024, 1000, 64, 2000), (65536, 50, 4096, 100), (65536, 1000, 4096, 2000),
        (256, 1, 120, 64), (16, 1, 64, 64),
    ])
    func theMediaComeFirst(files: Int, viewers: Int, connections: Int, ofOne: Int) {
        let limits = HTTPLimits(files: files, viewers: viewers)
        #expect(limits.connections == connections)
        #expect(limits.connectionsOfOneNetwork == ofOne)
    }
}
