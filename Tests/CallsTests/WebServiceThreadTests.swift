import Calls
import Posix
import Synchronization
import TestSupport
import Testing

/// What several threads do to a service at once.
@Suite struct WebServiceThreadTests {
    @Test func whoWaitsWhenTheServerClosesIsAnswered() throws {
        let web = try WebFixture()
        let client = try web.connect()
        let closing = try web.picture.bytes.withLock { _ -> Thread in
            client.send("GET /snapshot.png HTTP/1.1\r\nHost: x\r\n\(WebFixture.authorization)\r\n\r\n")
            try wait(until: "the snapshot is under way") { web.picture.count.load(ordering: .relaxed) == 1 }
            let closing = try Thread { web.close() }
            MonotonicClock.sleep(for: .milliseconds(200))
            return closing
        }
        #expect(try client.response().body == WebFixture.png)
        closing.join()
        let answer = Mutex<Result<Admission, Refusal>?>(nil)
        web.call.join(offer: WebFixture.offer, Newcomer(from: "")) { result in answer.withLock { $0 = result } }
        guard case .failure(.closed) = answer.withLock({ $0 }) else { throw BrokenHTTP() }
    }
}
