import Media
import Testing
import WebRTC

@testable import Calls

@Suite struct WebStatusTests {
    private let status = WebStatus()

    @Test func itTellsWhoIsThere() {
        #expect(status.json == #"{"state":"starting","viewers":0}"#)
        status.note(.active)
        func viewer(_ number: Int) -> WebCall.Viewer { WebCall.Viewer(number: number, address: "192.0.2.1", name: "") }
        for number in 1...3 { status.note(.joined(viewer(number), .vp8)) }
        status.note(.left(viewer(2), .closedByPeer, .hungUp))
        status.note(.turnedAway(from: "192.0.2.1", "", .full(limit: 2)))
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
