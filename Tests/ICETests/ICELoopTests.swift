import Posix
import Testing

@testable import ICE

@Suite struct ICELoopTests {
    /// Each that stays costs memory for ever, and half a second at the end.
    @Test func agentsThatAreReleasedGo() throws {
        let loop = ICELoop()
        for _ in 0..<3 {
            let agent = ICEAgent(in: loop, .init(addresses: ["127.0.0.1"]), isControlling: false) { _ in }
            #expect(agent != nil)
        }
        #expect(loop.closingCount == 3)
        loop.finish(from: MonotonicClock.now())
        #expect(loop.closingCount == 0)
    }
}
