import Media
import Testing
import WebRTC

@testable import Calls

@Suite struct WebStatusTests {
    private let status = WebStatus()

    @Test func itTellsWhoIsThere() {
        #expect(status.json == #"{"state":"starting","viewers":0}"#)
        status.note(.active)
        for number in 1...3 { status.note(.joined(number: number, address: "192.0.2.1", codec: .vp8)) }
        status.note(.left(number: 2, address: "192.0.2.1", .closedByPeer, .hungUp))
        #expect(status.json == #"{"state":"active","viewers":2}"#)
    }

    @Test func onlyTheEndStopsIt() {
        for (condition, isStopped) in [
            (.active, false), (.paused, false), (.stopped, true), (.active, false),
        ] as [(BroadcastCondition, Bool)] {
            status.note(condition)
            #expect(status.isStopped == isStopped)
        }
    }
}
