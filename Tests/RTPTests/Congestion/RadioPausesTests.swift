import Testing

@testable import RTP

@Suite struct RadioPausesTests {
    /// The clock of a receiver is set back: what it tells from then on counts.
    @Test func anEarlierTimeIsNotHeldUp() {
        var pauses = RadioPauses()
        func isHeldUp(sentAt: Double, arrivedAt: Double, comesTogether: Bool) -> Bool {
            let arrival = Arrival(sentAt: sentAt, arrivedAt: arrivedAt, size: 1200)
            return pauses.holdUp(arrival, comesTogether: comesTogether, fastest: 20)
        }
        let before = isHeldUp(sentAt: 0, arrivedAt: 20, comesTogether: false)
        let held = [100.0, 101].map { isHeldUp(sentAt: $0, arrivedAt: $0 + 220, comesTogether: true) }
        let after = isHeldUp(sentAt: 400, arrivedAt: 420, comesTogether: false)
        let setBack = isHeldUp(sentAt: 500, arrivedAt: -480, comesTogether: false)
        #expect(!before && held == [true, true] && !after && !setBack)
    }
}
