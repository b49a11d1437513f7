import Posix
import Synchronization
import TestSupport
import Testing

@testable import Calls

/// What several threads do to a service at once.
@Suite struct WebServiceThreadTests {
    @Test func whatIsNewerIsPublishedLater() {
        let hub = EventHub()
        let other = Mutex<Thread?>(nil)
        hub.publish {
            // While this one is put together, another thread has a newer one.
            other.withLock { $0 = try? Thread { hub.publish { "newer" } } }
            MonotonicClock.sleep(until: MonotonicClock.now() + 100_000_000)
            return "older"
        }
        other.withLock { $0.take() }?.join()
        #expect(hub.latest == "newer")
    }

    @Test func whoWaitsWhenTheServerClosesIsAnswered() throws {
        let web = try WebFixture()
        let client = try web.connect()
        let closing = try web.picture.bytes.withLock { _ -> Thread in
            client.send("GET /snapshot.png HTTP/1.1\r\nHost: x\r\n\(WebFixture.authorization)\r\n\r\n")
            try wait(until: "the snapshot is under way") { web.picture.count.load(ordering: .relaxed) == 1 }
            let server = web.server
            let closing = try Thread { server.close() }
            MonotonicClock.sleep(until: MonotonicClock.now() + 200_000_000)
            return closing
        }
        #expect(try client.response().body == WebFixture.png)
        closing.join()
        let answer = Mutex<Result<Admission, Refusal>?>(nil)
        web.call.join(offer: WebFixture.offer, from: "") { result in answer.withLock { $0 = result } }
        guard case .failure(.closed) = answer.withLock({ $0 }) else { throw BrokenHTTP() }
    }
}
