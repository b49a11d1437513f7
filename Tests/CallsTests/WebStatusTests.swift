import Media
import TestSupport
import Testing
import Time

@testable import Calls

@Suite struct WebStatusTests {
    private let status = WebStatus()

    @Test func itTellsWhoIsThere() {
        #expect(status.json == #"{"state":"starting","viewers":0}"#)
        status.note(.active)
        func viewer(_ id: ParticipantID) -> Participant {
            Participant(id: id, call: "web", place: "192.0.2.1", since: .start)
        }
        for id in [1, 2, 3] as [ParticipantID] { status.note(.joined(viewer(id), .vp8)) }
        status.note(.left(viewer(2), "left", .hungUp))
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

    /// In the order in which they came, by the names that they give themselves.
    @Test func namesAreShownWhereThatWasAllowed() {
        let open = WebStatus(showsPeople: true)
        #expect(open.json == #"{"people":[],"state":"starting","viewers":0}"#)
        for (id, name) in [(1, "Ann"), (2, ""), (3, "Zoë \"")] as [(ParticipantID, String)] {
            for status in [open, self.status] {
                status.note(CallReport(.joined(CallReport.Participant(id: id, name: name), .vp8)))
            }
        }
        #expect(open.json == #"{"people":["Ann","viewer 2","Zoë \""],"state":"starting","viewers":3}"#)
        open.note(CallReport(.left(CallReport.Participant(id: 1, name: "Ann"), .ended)))
        #expect(open.json == #"{"people":["viewer 2","Zoë \""],"state":"starting","viewers":2}"#)
        #expect(!self.status.json.contains("people"))
    }
}
