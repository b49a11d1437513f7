import HTTP
import Posix
import TestSupport
import Testing
import Time

@Suite struct ConnectionLimitTests {
    @Test(arguments: [
        (HTTPLimits { ($0.connections, $0.connectionsOfOneNetwork) = (3, 64) }, [1, 2, 3, 4]),
        (HTTPLimits { ($0.connections, $0.connectionsOfOneNetwork) = (64, 3) }, [1, 1, 1, 1]),
    ])
    func whoComesTooMuchIsTurnedAway(limits: HTTPLimits, networks: [Int]) throws {
        let web = try HTTPFixture(limits: limits)
        func status(_ client: HTTPClient) -> Int? {
            try? client.request("GET", "/greeting").status
        }
        func connect(from network: Int) throws -> HTTPClient { try web.connect(from: "127.0.0.\(network)") }
        var clients = try networks.dropLast().map(connect)
        defer { withExtendedLifetime(clients) {} }
        #expect(clients.map(status) == [200, 200, 200])
        let fourth = try connect(from: networks[3])
        #expect(status(fourth) == nil)
        clients.removeLast()
        // The server hears of it a little later.
        try wait(until: "somebody else is let in") { status(try connect(from: networks[3])) == 200 }
    }

    /// However many places one network may have.
    @Test func oneNetworkLeavesHalfOfThePlaces() throws {
        let web = try HTTPFixture(limits: HTTPLimits { ($0.connections, $0.connectionsOfOneNetwork) = (8, 64) })
        func isLetIn(_ client: HTTPClient) -> Bool { (try? client.request("GET", "/greeting").status) == 200 }
        let clients = try (0..<5).map { _ in try web.connect(from: "127.0.0.2") }
        defer { withExtendedLifetime(clients) {} }
        #expect(clients.map(isLetIn) == [true, true, true, true, false])
        let others = try (0..<4).map { _ in try web.connect(from: "127.0.0.3") }
        #expect(others.map(isLetIn) == [true, true, true, true])
    }

    /// Behind a proxy, those that wait for a response count for their networks.
    @Test func oneNetworkBehindAProxyLeavesHalfOfThePlaces() throws {
        let web = try HTTPFixture(
            limits: HTTPLimits { ($0.connections, $0.connectionsOfOneNetwork) = (8, 64) },
            proxies: [try #require(AddressRange(parsing: "127.0.0.1"))]
        )
        let listeners = try (0..<4).map { _ in try web.connect() }
        defer { withExtendedLifetime(listeners) {} }
        for client in listeners {
            #expect(try client.request("GET", "/events", ["X-Forwarded-For: 2001:db8::1"]).status == 200)
        }
        // Of the same network; what comes is refused before it is whole.
        let fifth = try web.connect()
        fifth.send("POST /echo HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 2001:db8::2\r\nContent-Length: 9\r\n\r\n")
        #expect(try fifth.response().status == 429)
        #expect(try web.request("GET", "/greeting", ["X-Forwarded-For: 2001:db8:1::1"]).status == 200)
    }

    // MARK: - Idle connections

    private func greet(_ client: HTTPClient) throws { #expect(try client.request("GET", "/greeting").status == 200) }

    @Test func theConnectionThatIsIdleForLongestMakesRoom() throws {
        let web = try HTTPFixture(limits: HTTPLimits { $0.idleConnectionsOfOneNetwork = 2 })
        let listener = try web.connect()
        #expect(try listener.request("GET", "/events").status == 200)
        let other = try web.connect(from: "127.0.0.2")
        try greet(other)
        var clients: [HTTPClient] = []
        for _ in 0..<3 {
            let client = try web.connect()
            try greet(client)
            clients.append(client)
        }
        #expect(try clients[0].rest().isEmpty)
        try greet(clients[1])
        try greet(try web.connect())
        #expect(try clients[2].rest().isEmpty)
        try greet(clients[1])
        try greet(other)
        web.events.publish { "second" }
        while try !listener.event().contains("second") {}
    }

    /// Whoever has sent half of a request waits for nothing yet.
    @Test func aRequestThatIsNotWholeKeepsNoConnection() throws {
        let web = try HTTPFixture(limits: HTTPLimits { $0.idleConnectionsOfOneNetwork = 1 })
        for part in ["GET / HT", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nx"] {
            let client = try web.connect()
            client.send(part)
            try greet(try web.connect())
            #expect(try client.rest().isEmpty)
        }
    }

    @Test func whatAProxyKeepsOpenIsNobodys() throws {
        let web = try HTTPFixture(
            limits: HTTPLimits { $0.idleConnectionsOfOneNetwork = 1 },
            proxies: [try #require(AddressRange(parsing: "127.0.0.1"))]
        )
        let clients = try (0..<3).map { _ in try web.connect() }
        for _ in 0..<2 { for client in clients { try greet(client) } }
    }

    @Test func aWebSocketIsNotIdle() throws {
        let web = try WebSocketFixture(idleConnections: 1)
        let socket = try web.open()
        let clients = try (0..<2).map { _ in try web.connect() }
        #expect(try clients[1].request("GET", "/").status == 200)
        #expect(try clients[0].rest().isEmpty)
        socket.send(maskedFrame(2, [1]))
        #expect(try socket.read(3) == [0x82, 0x01, 1])
    }

    /// A listener that goes is missed before the next sign of life, which is fifteen seconds away: eight that wait for it
    /// would need more than a minute.
    @Test func aListenerThatGoesMakesRoom() throws {
        let web = try HTTPFixture(limits: HTTPLimits { $0.connectionsOfOneNetwork = 1 })
        let end: Instant = MonotonicClock.now() + .seconds(60)
        for _ in 0..<8 {
            var isLetIn = false
            while !isLetIn, MonotonicClock.now() < end {
                let client = try web.connect()
                client.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
                isLetIn = (try? client.response(hasBody: false)) != nil
                if !isLetIn { MonotonicClock.sleep(for: .milliseconds(5)) }
            }
            try #require(isLetIn)
        }
    }
}
