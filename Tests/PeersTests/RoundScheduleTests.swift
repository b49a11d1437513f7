import TestSupport
import Testing
import Time

@testable import Peers

@Suite struct RoundScheduleTests {
    private let start = Instant.seconds(1000)

    @Test func eachThingHasAPaceOfItsOwn() {
        var schedule = RoundSchedule(at: start)
        var (links, placings, statuses): ([Instant], [Instant], [Duration]) = ([], [], [])
        for step in 0..<3000 {
            let now = start + .milliseconds(step)
            if schedule.takeLinks(at: now) { links.append(now) }
            if schedule.takePlacing(at: now) { placings.append(now) }
            if let elapsed = schedule.takeStatus(at: now) { statuses.append(elapsed) }
        }
        #expect(links == (0..<150).map { start + .milliseconds(20 * $0) })
        #expect(placings == (0..<30).map { start + .milliseconds(100 * $0) })
        #expect(statuses == [.seconds(1), .seconds(1)])
        #expect(schedule.statusAt == start + .seconds(3))
    }

    /// After a standstill, each is done once, and bitrates are over the whole time.
    @Test func whatIsLateIsDoneOnce() {
        var schedule = RoundSchedule(at: start)
        for late in [Duration.seconds(5), .seconds(3600)] {
            let now = schedule.statusAt + late
            let first = (schedule.takeLinks(at: now), schedule.takePlacing(at: now), schedule.takeStatus(at: now))
            #expect(first == (true, true, late + .seconds(1)))
            let again = (schedule.takeLinks(at: now), schedule.takePlacing(at: now), schedule.takeStatus(at: now))
            #expect(again == (false, false, nil))
            #expect(schedule.statusAt == now + .seconds(1))
        }
    }
}
