import HTTP
import Posix
import Synchronization
import TestSupport
import Testing

/// Responses that are larger than what the kernel takes at once.
@Suite struct SlowReaderTests {
    private static let size = 48 << 20

    private func server(timeout: Duration) throws -> HTTPFixture {
        try HTTPFixture(limits: HTTPLimits { $0.requestTimeout = timeout }, large: Self.size)
    }

    private func ask(_ web: HTTPFixture, _ fields: String) throws -> HTTPClient {
        let client = try web.connect()
        client.send("GET /large HTTP/1.1\r\nHost: x\r\n\(fields)\r\n")
        return client
    }

    private func wait(_ milliseconds: Int) {
        MonotonicClock.sleep(for: .milliseconds(milliseconds))
    }

    @Test(arguments: ["", "Connection: close\r\n"])
    func whoReadsSlowlyGetsAllOfIt(fields: String) throws {
        let web = try server(timeout: .seconds(2))
        let client = try ask(web, fields)
        var count = 0
        // Longer than the timeout in all, which is that of each part.
        for _ in 0..<24 {
            wait(100)
            count += try client.read(2 << 20).count
        }
        #expect(count == Self.size)
    }

    /// Invariant: paused.
    @Test(arguments: ["", "Connection: close\r\n"])
    func whatMayNotBeSeenAnyMoreIsNotSentOn(fields: String) throws {
        let web = try server(timeout: .seconds(15))
        let client = try ask(web, fields)
        _ = try client.read(4 << 20)
        web.isInSight.value.store(false, ordering: .relaxed)
        #expect(try client.rest().count < Self.size - 8 << 20)
    }

    /// Invariant: isolated.
    @Test(arguments: ["", "Connection: close\r\n"])
    func whoStopsReadingIsCutOff(fields: String) throws {
        let web = try server(timeout: .milliseconds(400))
        let client = try ask(web, fields)
        wait(2000)
        #expect(try client.rest().count < Self.size)
    }
}
