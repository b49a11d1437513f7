import Posix
import Synchronization
import Testing

@testable import HTTP

@Suite struct EventHubTests {
    /// Several threads publish at once.
    @Test func whatIsNewerIsPublishedLater() {
        let hub = EventHub()
        let other = Mutex<Thread?>(nil)
        hub.publish {
            // While this one is put together, another thread has a newer one.
            other.withLock { $0 = try? Thread { hub.publish { "newer" } } }
            MonotonicClock.sleep(for: .milliseconds(100))
            return "older"
        }
        other.withLock { $0.take() }?.join()
        #expect(hub.latest == "newer")
    }
}
