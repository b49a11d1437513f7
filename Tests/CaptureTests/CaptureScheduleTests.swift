import TestSupport
import Testing
import Time

@testable import Capture

@Suite struct CaptureScheduleTests {
    private typealias Look = CaptureSchedule.Look
    private typealias Sight = XSession.Sight
    private let interval = Duration.milliseconds(33)
    private let start = Instant.seconds(1)

    /// One that has looked at everything at 1 s.
    private func schedule(
        interval: Duration = .milliseconds(33),
        hasDamage: Bool = true,
        hasMotion: Bool = true
    ) -> CaptureSchedule {
        var schedule = CaptureSchedule(interval: interval, hasDamage: hasDamage, hasMotion: hasMotion, at: start)
        #expect(schedule.due(at: start) == .atAll)
        schedule.noteLook(.atAll, at: start, Sight(isNew: true))
        return schedule
    }

    /// Takes every look that is due from 1 s on, each millisecond, for a while.
    private func looks(
        _ schedule: inout CaptureSchedule,
        for time: Duration,
        before: (inout CaptureSchedule) -> Void = { _ in },
        sight: (Look) -> Sight
    ) -> [(at: Instant, look: Look)] {
        var looks: [(Instant, Look)] = []
        for millisecond in 0..<Int(time.milliseconds) {
            let now = start + .milliseconds(millisecond)
            before(&schedule)
            guard let look = schedule.due(at: now) else { continue }
            schedule.noteLook(look, at: now, sight(look))
            looks.append((now, look))
        }
        return looks
    }

    @Test func theFirstLookIsDueAtOnceAndAtEverything() {
        let schedule = CaptureSchedule(interval: interval, hasDamage: true, hasMotion: true, at: start)
        #expect(schedule.deadline == start)
        #expect(schedule.due(at: start) == Look(takesDamage: true, sweep: .everything))
    }

    @Test func whatIsDamagedAfterAQuietTimeIsLookedAtAtOnce() {
        var schedule = schedule()
        #expect(schedule.due(at: start + .milliseconds(400)) == nil)
        schedule.noteDamage()
        #expect(schedule.isWaiting)
        #expect(schedule.due(at: start + .milliseconds(400)) == Look(takesDamage: true, sweep: .none))
        schedule.noteLook(Look(takesDamage: true, sweep: .none), at: start + .milliseconds(400), Sight(isNew: true))
        #expect(!schedule.isWaiting)
    }

    @Test func damageThatNeverEndsIsTakenAtTheFrameRate() {
        var schedule = schedule()
        let looks = looks(&schedule, for: .seconds(1), before: { $0.noteDamage() }) { _ in Sight(isNew: true) }
        let grabs = looks.filter(\.look.takesDamage).map(\.at)
        // 30.3 frames a second, the first of them with its slack.
        #expect(30...32 ~= grabs.count)
        #expect(zip(grabs, grabs.dropFirst()).allSatisfy { $1 - $0 >= interval / 2 })
        // The sweep goes on meanwhile.
        #expect(looks.count { $0.look.sweep != .none } >= 1)
    }

    /// Invariant: idle.
    @Test func aQuietScreenIsSweptWithinASecondByFewLooks() {
        var schedule = schedule()
        let looks = looks(&schedule, for: .seconds(10)) { _ in Sight() }
        #expect(looks.count == 19)
        #expect(looks.allSatisfy { !$0.look.takesDamage })
        for (earlier, later) in zip(looks, looks.dropFirst()) {
            #expect([earlier, later].contains { $0.look.sweep == .stripe(0, of: 2) })
            #expect([earlier, later].contains { $0.look.sweep == .stripe(1, of: 2) })
        }
    }

    /// Invariant: idle.
    @Test func aScreenAtRestIsSweptWithinFourSecondsByNarrowStripes() {
        var schedule = schedule()
        let looks = looks(&schedule, for: .seconds(75)) { _ in Sight() }
        let atRest = looks.filter { $0.at >= start + CaptureSchedule.calmTime }
        #expect(looks.count == 149 && atRest.count == 30)
        for first in atRest.indices.dropLast(8) {
            #expect(Set(atRest[first..<first + 8].map { index($0.look, of: 8) }) == Set(0..<8))
        }
        let before = looks.prefix(looks.count - atRest.count)
        #expect(before.allSatisfy { index($0.look, of: 2) != nil })
    }

    @Test func aChangeEndsTheRest() {
        var schedule = schedule()
        let looks = looks(&schedule, for: .seconds(70)) { _ in Sight() }
        #expect(index(looks.last!.look, of: 8) != nil)
        schedule.noteDamage()
        let changedAt = start + .seconds(70)
        schedule.noteLook(schedule.due(at: changedAt)!, at: changedAt, Sight(isNew: true))
        for sweep in 1...2 {
            let now = changedAt + CaptureSchedule.sweepInterval * sweep
            let look = schedule.due(at: now)!
            #expect(index(look, of: 2) != nil)
            schedule.noteLook(look, at: now, Sight())
        }
    }

    /// A server that missed drawing once does so again.
    @Test func aServerThatMissesIsSweptWithinASecondForGood() {
        var schedule = schedule()
        var isFirst = true
        let looks = looks(&schedule, for: .seconds(200)) { look in
            defer { isFirst = false }
            return Sight(isNew: isFirst, isMissed: isFirst)
        }
        #expect(index(looks.last!.look, of: 2) != nil)
    }

    private func index(_ look: Look, of stripes: Int) -> Int? {
        guard case .stripe(let index, stripes) = look.sweep else { return nil }
        return index
    }

    @Test func aSweepThatFindsNothingDelaysNoDamage() {
        var schedule = schedule()
        let sweep = start + CaptureSchedule.sweepInterval
        schedule.noteLook(schedule.due(at: sweep)!, at: sweep, Sight())
        schedule.noteDamage()
        #expect(schedule.due(at: sweep + .milliseconds(1))?.takesDamage == true)
    }

    @Test func aMissSetsOffPollingUntilTrustReturns() {
        var schedule = schedule()
        var isFirst = true
        let looks = looks(&schedule, for: .seconds(10)) { look in
            defer { isFirst = false }
            return Sight(isNew: isFirst, isMissed: isFirst)
        }
        let polls = looks.filter { $0.look.sweep == .everything }
        #expect(150...153 ~= polls.count)
        #expect(polls.last!.at <= start + CaptureSchedule.sweepInterval + CaptureSchedule.trustTime + interval)
        #expect(looks.last!.look.sweep != .everything)
    }

    @Test func damageThatCameDuringASweepIsLookedAtNext() {
        var schedule = schedule()
        let sweep = start + CaptureSchedule.sweepInterval
        schedule.noteLook(schedule.due(at: sweep)!, at: sweep, Sight(isNew: true, isDamaged: true))
        #expect(schedule.due(at: sweep + interval) == Look(takesDamage: true, sweep: .none))
    }

    @Test func withoutDamageEveryIntervalIsSwept() {
        var schedule = schedule(hasDamage: false)
        let looks = looks(&schedule, for: .seconds(1)) { _ in Sight() }
        #expect(29...30 ~= looks.count)
        #expect(looks.allSatisfy { $0.look.sweep == .everything })
    }

    @Test func aPointerThatMovesIsAskedForAtTheFrameRateAndAWhileLonger() {
        var schedule = schedule()
        schedule.notePointer()
        #expect(schedule.due(at: start + interval) == Look(takesDamage: false, sweep: .none))
        var moves = 5
        let looks = looks(&schedule, for: .seconds(1)) { _ in
            moves -= 1
            return moves >= 0 ? Sight(isNew: true, pointerMoved: true) : Sight()
        }
        let last = looks[4].at
        let afterwards = looks.filter { $0.at > last && $0.at <= last + CaptureSchedule.restTime + interval }
        #expect(7...9 ~= afterwards.count)
        #expect(looks.count - 5 - afterwards.count <= 2)
    }

    @Test func withoutMotionEventsThePointerIsAskedForAtTheFrameRate() {
        var schedule = schedule(hasMotion: false)
        let looks = looks(&schedule, for: .seconds(1)) { _ in Sight() }
        #expect(29...31 ~= looks.count)
        #expect(looks.allSatisfy { $0.look.sweep != .everything })
    }

    @Test func aRateBelowTwoFramesASecondHoldsForTheSweepToo() {
        let schedule = schedule(interval: .seconds(3))
        #expect(schedule.deadline == .seconds(4))
    }
}
