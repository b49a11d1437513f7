import TestSupport
import Testing
import Time

@testable import SocketIO

@Suite struct SocketClientTests {
    /// Nor do all clients of a server come at once when it is back.
    @Test(arguments: [0.0, 0.5, 1]) func aServerThatIsAwayIsTriedEverMoreRarely(jitter: Double) throws {
        var now = Instant.seconds(100)
        var client = SocketClient(jitter: jitter, now: now)
        var waits: [Duration] = []
        for attempt in 1...10 {
            if attempt == 6 {
                let words = [
                    #"0{"sid":"s","upgrades":[],"pingInterval":25000,"pingTimeout":20000}"#, #"40{"sid":"c"}"#,
                ]
                for word in words { client.change(now: now) { $0.receive(.text(Array(word.utf8)), now: now) } }
                #expect(client.isConnected, "that forgets the attempts before")
            }
            client.change(now: now) { $0.socketLost() }
            guard case .disconnected(_, let retryAt?)? = client.takeOutputs().last else {
                Issue.record("it is not tried again")
                return
            }
            waits.append(retryAt - now)
            now = retryAt
            client.tick(now: now)
        }
        let growing = [200, 400, 800, 1000, 1000].map { Duration.milliseconds($0) }
        #expect(waits == (growing + growing).map { $0 * (1 - jitter / 2) })
    }
}
