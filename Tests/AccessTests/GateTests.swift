import Access
import TestSupport
import Testing
import Time

@Suite struct GateTests {
    /// Each once a minute, and none for another.
    @Test func aRoomAndAViewerAreToldOfApart() {
        var gate = Gate(token: nil, viewerLimit: 50)
        let places = ["192.0.2.1", "wss://a.example/ tea", "wss://b.example/ tea", "2001:db8::1"]
        func told(_ places: [String], at second: Double) -> [Bool] {
            places.map { gate.isToldRefusal(of: $0, now: .seconds(second)) }
        }
        #expect(told(places, at: 0) == [true, true, true, true])
        #expect(told(places + ["2001:db8::2"], at: 59) == [false, false, false, false, false])
        #expect(told(places + ["2001:db8::2"], at: 60) == [true, true, true, true, false])
    }

    /// Who is told nothing is still let in, and the other way.
    @Test func tokenLimitsAndRefusalsAreCountedApart() {
        var gate = Gate(token: "secret", viewerLimit: 1)
        for _ in 0..<100 { _ = gate.token.check("Bearer guess", from: "192.0.2.1", now: .start) }
        let (mayStart, isTold) = (
            gate.mayStart("192.0.2.1", now: .start), gate.isToldRefusal(of: "192.0.2.1", now: .start)
        )
        #expect(mayStart && isTold)
        let decision = gate.token.check("Bearer secret", from: "192.0.2.1", now: .start)
        #expect(decision == .allowed)
    }
}
