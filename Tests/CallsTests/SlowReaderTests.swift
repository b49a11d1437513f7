import Posix
import Synchronization
import Testing

/// Responses that are larger than what the kernel takes at once.
@Suite struct SlowReaderTests {
    private let web: WebFixture
    private let picture = [UInt8](repeating: 7, count: 48 << 20)

    init() throws {
        web = try WebFixture(requestTimeout: .milliseconds(400))
        let picture = picture
        web.picture.bytes.withLock { $0 = picture }
    }

    private func ask(_ fields: String = "") throws -> HTTPClient {
        let client = try web.connect()
        client.send("GET /snapshot.png HTTP/1.1\r\nHost: x\r\n\(WebFixture.authorization)\r\n\(fields)\r\n")
        return client
    }

    private func wait(_ milliseconds: UInt64) {
        MonotonicClock.sleep(until: MonotonicClock.now() + milliseconds * 1_000_000)
    }

    @Test(arguments: ["", "Connection: close\r\n"])
    func whoReadsSlowlyGetsAllOfIt(fields: String) throws {
        let client = try ask(fields)
        var count = 0
        for _ in 0..<12 {
            wait(100)
            count += try client.read(4 << 20).count
        }
        #expect(count == 48 << 20)
    }

    @Test(arguments: ["", "Connection: close\r\n"])
    func whatMayNotBeSeenAnyMoreIsNotSentOn(fields: String) throws {
        let client = try ask(fields)
        _ = try client.read(4 << 20)
        web.picture.horizon.store(5, ordering: .relaxed)
        #expect(try client.rest().count < picture.count - 8 << 20)
    }

    @Test(arguments: ["", "Connection: close\r\n"])
    func whoStopsReadingIsCutOff(fields: String) throws {
        let client = try ask(fields)
        wait(2000)
        #expect(try client.rest().count < picture.count)
    }
}
