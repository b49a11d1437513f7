import Posix
import Synchronization
import Testing

/// Responses that are larger than what the kernel takes at once.
@Suite struct SlowReaderTests {
    private let picture = [UInt8](repeating: 7, count: 48 << 20)

    private func server(timeout: Duration) throws -> WebFixture {
        let web = try WebFixture(requestTimeout: timeout)
        let picture = picture
        web.picture.bytes.withLock { $0 = picture }
        return web
    }

    private func ask(_ web: WebFixture, _ fields: String) throws -> HTTPClient {
        let client = try web.connect()
        client.send("GET /snapshot.png HTTP/1.1\r\nHost: x\r\n\(WebFixture.authorization)\r\n\(fields)\r\n")
        return client
    }

    private func wait(_ milliseconds: UInt64) {
        MonotonicClock.sleep(until: MonotonicClock.now() + milliseconds * 1_000_000)
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
        #expect(count == 48 << 20)
    }

    @Test(arguments: ["", "Connection: close\r\n"])
    func whatMayNotBeSeenAnyMoreIsNotSentOn(fields: String) throws {
        let web = try server(timeout: .seconds(15))
        let client = try ask(web, fields)
        _ = try client.read(4 << 20)
        web.picture.horizon.store(5, ordering: .relaxed)
        #expect(try client.rest().count < picture.count - 8 << 20)
    }

    @Test(arguments: ["", "Connection: close\r\n"])
    func whoStopsReadingIsCutOff(fields: String) throws {
        let web = try server(timeout: .milliseconds(400))
        let client = try ask(web, fields)
        wait(2000)
        #expect(try client.rest().count < picture.count)
    }
}
