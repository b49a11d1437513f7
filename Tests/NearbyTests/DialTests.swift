import Discovery
import Testing
import Time

@testable import Nearby

@Suite struct DialTests {
    private func place(_ number: Int) -> Endpoint { Endpoint(host: "192.0.2.\(number)", port: 1) }

    @Test func placesAreTriedInTurn() {
        var dial = Dial([place(1), place(2), place(1), place(3)], at: .start)
        #expect(dial.next(at: .start) == place(1))
        dial.noteStart(of: 1)
        #expect(dial.next(at: .start) == nil && dial.nextAt == .start + Dial.stagger)
        #expect(dial.next(at: .start + Dial.stagger) == place(2))
        dial.noteStart(of: 2)
        // One that fails makes room at once.
        let now: Instant = .start + .milliseconds(300)
        dial.noteEnd(of: 1, at: now)
        #expect(dial.next(at: now) == place(3) && dial.nextAt == nil && dial.running == [2])
        dial.noteStart(of: 3)
        dial.noteEnd(of: 2, at: now)
        #expect(!dial.hasFailed)
        dial.noteEnd(of: 3, at: now)
        #expect(dial.hasFailed)
        #expect(Dial([], at: .start).hasFailed)
    }
}
