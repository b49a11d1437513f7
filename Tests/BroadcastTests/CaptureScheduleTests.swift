import Testing

@testable import Broadcast

@Suite struct CaptureScheduleTests {
    private typealias Look = CaptureSchedule.Look
    private typealias Sight = XSession.Sight
    private let interval: UInt64 = 33_000_000
    private let second: UInt64 = 1_000_000_000

    /// One that has looked at everything at 1 s.
    private func schedule(
        interval: UInt64 = 33_000_000,
        hasDamage: Bool = true,
        hasMotion: Bool = true
    ) -> CaptureSchedule {
        var schedule = CaptureSchedule(interval: interval, hasDamage: hasDamage, hasMotion: hasMotion)
        #expect(schedule.due(at: second) == Look(takesDamage: true, sweep: .everything))
        schedule.note(Look(takesDamage: true, sweep: .everything), at: second, Sight(isNew: true))
        return schedule
    }

    /// Takes every look that is due from 1 s on, each millisecond, for a while.
    private func looks(
        _ schedule: inout CaptureSchedule,
        for time: UInt64,
        before: (inout CaptureSchedule) -> Void = { _ in },
        sight: (Look) -> Sight
    ) -> [(at: UInt64, look: Look)] {
        var looks: [(UInt64, Look)] = []
        for now in stride(from: second, to: second + time, by: 1_000_000) {
            before(&schedule)
            guard let look = schedule.due(at: now) else { continue }
            schedule.note(look, at: now, sight(look))
            looks.append((now, look))
        }
        return looks
    }

    @Test func theFirstLookIsDueAtOnceAndAtEverything() {
        let schedule = CaptureSchedule(interval: interval, hasDamage: true, hasMotion: true)
        #expect(schedule.deadline == 0)
        #expect(schedule.due(at: 0) == Look(takesDamage: true, sweep: .everything))
    }

    @Test func whatIsDamagedAfterAQuietTimeIsLookedAtAtOnce() {
        var schedule = schedule()
        #expect(schedule.due(at: second + 400_000_000) == nil)
        schedule.noteDamage()
        #expect(schedule.isWaiting)
        #expect(schedule.due(at: second + 400_000_000) == Look(takesDamage: true, sweep: .none))
        schedule.note(Look(takesDamage: true, sweep: .none), at: second + 400_000_000, Sight(isNew: true))
        #expect(!schedule.isWaiting)
    }

    @Test func damageThatNeverEndsIsTakenAtTheFrameRate() {
        var schedule = schedule()
        let looks = looks(&schedule, for: second, before: { $0.noteDamage() }) { _ in Sight(isNew: true) }
        let grabs = looks.filter(\.look.takesDamage).map(\.at)
        // 30.3 frames a second, the first of them with its slack.
        #expect(30...32 ~= grabs.count)
        #expect(zip(grabs, grabs.dropFirst()).allSatisfy { $1 - $0 >= interval / 2 })
        // The sweep goes on meanwhile.
        #expect(looks.count { $0.look.sweep != .none } >= 1)
    }

    @Test func aQuietScreenIsSweptWithinASecondByFewLooks() {
        var schedule = schedule()
        let looks = looks(&schedule, for: 10 * second) { _ in Sight() }
        #expect(looks.count == 19)
        #expect(looks.allSatisfy { !$0.look.takesDamage })
        for (earlier, later) in zip(looks, looks.dropFirst()) {
            #expect([earlier, later].contains { $0.look.sweep == .stripe(0) })
            #expect([earlier, later].contains { $0.look.sweep == .stripe(1) })
        }
    }

    @Test func aSweepThatFindsNothingDelaysNoDamage() {
        var schedule = schedule()
        let sweep = second + CaptureSchedule.sweepInterval
        schedule.note(schedule.due(at: sweep)!, at: sweep, Sight())
        schedule.noteDamage()
        #expect(schedule.due(at: sweep + 1_000_000)?.takesDamage == true)
    }

    @Test func aMissSetsOffPollingUntilTrustReturns() {
        var schedule = schedule()
        var isFirst = true
        let looks = looks(&schedule, for: 10 * second) { look in
            defer { isFirst = false }
            return Sight(isNew: isFirst, isMissed: isFirst)
        }
        let polls = looks.filter { $0.look.sweep == .everything }
        #expect(150...153 ~= polls.count)
        #expect(polls.last!.at <= second + CaptureSchedule.sweepInterval + CaptureSchedule.trustTime + interval)
        #expect(looks.last!.look.sweep != .everything)
    }

    @Test func damageThatCameDuringASweepIsLookedAtNext() {
        var schedule = schedule()
        let sweep = second + CaptureSchedule.sweepInterval
        schedule.note(schedule.due(at: sweep)!, at: sweep, Sight(isNew: true, isDamaged: true))
        #expect(schedule.due(at: sweep + interval) == Look(takesDamage: true, sweep: .none))
    }

    @Test func withoutDamageEveryIntervalIsSwept() {
        var schedule = schedule(hasDamage: false)
        let looks = looks(&schedule, for: second) { _ in Sight() }
        #expect(29...30 ~= looks.count)
        #expect(looks.allSatisfy { $0.look.sweep == .everything })
    }

    @Test func aPointerThatMovesIsAskedForAtTheFrameRateAndAWhileLonger() {
        var schedule = schedule()
        schedule.notePointer()
        #expect(schedule.due(at: second + interval) == Look(takesDamage: false, sweep: .none))
        var moves = 5
        let looks = looks(&schedule, for: second) { _ in
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
        let looks = looks(&schedule, for: second) { _ in Sight() }
        #expect(29...31 ~= looks.count)
        #expect(looks.allSatisfy { $0.look.sweep != .everything })
    }

    @Test func aRateBelowTwoFramesASecondHoldsForTheSweepToo() {
        let schedule = schedule(interval: 3 * second)
        #expect(schedule.deadline == 4 * second)
    }
}

@Suite struct BackoffTests {
    @Test func attemptsGetRarerUpToTwoASecond() {
        var backoff = Backoff(now: 0)
        var waits: [UInt64] = []
        for _ in 0..<6 {
            let at = backoff.nextAttempt
            backoff.noteFailure(at: at)
            waits.append((backoff.nextAttempt - at) / 1_000_000)
        }
        #expect(waits == [100, 200, 400, 500, 500, 500])
    }
}

@Suite struct PlacardTests {
    @Test(arguments: [(2, 2), (64, 36), (640, 480), (1920, 1080), (1080, 1920)])
    func theWordIsInTheMiddleAndTheBorderIsPlain(size: (Int, Int)) {
        let (width, height) = size
        let rows = (0..<height).map { y in
            (0..<width).map { x in Placard.luma(x: x, y: y, width: width, height: height) }
        }
        if width >= 64 {
            #expect(rows[0].allSatisfy { $0 == rows[0][0] })
            #expect(rows[height - 1].allSatisfy { $0 == rows[0][0] })
            let ink = rows.joined().count { $0 != rows[0][0] }
            #expect(ink > 0 && ink < width * height / 4)
            // As much ink left of the middle as right of it, within a letter.
            let left = rows.map { $0[..<(width / 2)].count { $0 != rows[0][0] } }.reduce(0, +)
            #expect(left > ink / 4 && left < ink * 3 / 4)
        }
    }
}
