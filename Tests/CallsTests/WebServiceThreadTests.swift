import Posix
import Synchronization
import TestSupport
import Testing

@testable import Calls

/// What several threads do to a service at once.
@Suite struct WebServiceThreadTests {
    @Test func theNewestStateIsPublishedLast() throws {
        let web = try WebFixture()
        let service = web.service
        for round in 0..<20_000 {
            let name = "state \(round)"
            let other = try Thread { service.viewersChanged() }
            service.setState(name)
            other.join()
            try #require(service.events.latest == "{\"state\":\"\(name)\",\"viewers\":0}")
        }
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
