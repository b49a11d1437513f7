import HTTP
import Posix
import TestSupport
import Testing
import Time

@Suite struct ConnectionLimitTests {
    @Test(arguments: [
        HTTPServer.Limits(connections: 3, connectionsOfOneNetwork: 64),
        HTTPServer.Limits(connections: 64, connectionsOfOneNetwork: 3),
    ])
    func whoComesTooMuchIsTurnedAway(limits: HTTPServer.Limits) throws {
        let web = try HTTPFixture(limits: limits)
        func status(_ client: HTTPClient) -> Int? {
            try? client.request("GET", "/greeting").status
        }
        var clients = try (0..<3).map { _ in try web.connect() }
        #expect(clients.map(status) == [200, 200, 200])
        let fourth = try web.connect()
        #expect(status(fourth) == nil)
        clients.removeLast()
        // The server hears of it a little later.
        let deadline: Instant = MonotonicClock.now() + .seconds(5)
        var isLetIn = false
        while !isLetIn, MonotonicClock.now() < deadline {
            isLetIn = status(try web.connect()) == 200
            if !isLetIn { MonotonicClock.sleep(for: .milliseconds(5)) }
        }
        #expect(isLetIn)
    }

    /// A listener that goes is missed before the next sign of life, which is fifteen seconds away: eight that wait for it
    /// would need more than a minute.
    @Test func aListenerThatGoesMakesRoom() throws {
        let web = try HTTPFixture(limits: HTTPServer.Limits(connectionsOfOneNetwork: 1))
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
