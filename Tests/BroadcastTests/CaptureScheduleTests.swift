import Testing

@testable import Broadcast

@Suite struct CaptureScheduleTests {
    private let interval: UInt64 = 33_000_000
    private let second: UInt64 = 1_000_000_000

    @Test func theFirstGrabIsDueAtOnce() {
        let schedule = CaptureSchedule(interval: interval, hasDamage: true)
        #expect(schedule.due(at: 0) == .changed)
    }

    @Test func damageAfterAQuietTimeIsGrabbedAtOnce() {
        var schedule = CaptureSchedule(interval: interval, hasDamage: true)
        schedule.noteGrab(at: second)
        #expect(schedule.due(at: second + 500_000_000) == nil)
        schedule.noteDamage()
        #expect(schedule.due(at: second + 500_000_000) == .changed)
    }

    @Test func damageThatNeverEndsIsGrabbedAtTheFrameRate() {
        var schedule = CaptureSchedule(interval: interval, hasDamage: true)
        var grabs: [UInt64] = []
        for now in stride(from: second, to: 2 * second, by: 1_000_000) {
            schedule.noteDamage()
            guard schedule.due(at: now) == .changed else { continue }
            schedule.noteGrab(at: now)
            grabs.append(now)
        }
        // 30.3 frames a second, the first of them with its slack.
        #expect(30...32 ~= grabs.count)
        #expect(zip(grabs, grabs.dropFirst()).allSatisfy { $1 - $0 >= interval / 2 })
    }

    @Test func aPointerOnAQuietScreenGetsAPictureEachInterval() {
        var schedule = CaptureSchedule(interval: interval, hasDamage: true)
        schedule.noteGrab(at: second)
        #expect(!schedule.pointerIsDue(at: second + interval / 2))
        #expect(schedule.pointerIsDue(at: second + interval))
        schedule.notePointer(at: second + interval)
        #expect(!schedule.pointerIsDue(at: second + interval * 3 / 2))
        // Ticks come a little early or late.
        #expect(schedule.pointerIsDue(at: second + interval * 2 - 1_000_000))
        #expect(schedule.due(at: second + interval * 2) == nil)
    }

    @Test func aQuietScreenIsSweptOnceASecond() {
        var schedule = CaptureSchedule(interval: interval, hasDamage: true)
        schedule.noteGrab(at: second)
        #expect(schedule.deadline == second + CaptureSchedule.sweepInterval)
        #expect(schedule.due(at: second + CaptureSchedule.sweepInterval) == .sweep)
    }

    @Test func aMissSetsOffPollingUntilTrustReturns() {
        var schedule = CaptureSchedule(interval: interval, hasDamage: true)
        schedule.noteGrab(at: second)
        schedule.noteMiss(at: second)
        #expect(schedule.deadline == second + interval)
        #expect(schedule.due(at: second + interval) == .sweep)
        let later = second + CaptureSchedule.trustTime
        schedule.noteGrab(at: later)
        #expect(schedule.deadline == later + CaptureSchedule.sweepInterval)
    }

    @Test func withoutDamageEveryIntervalIsSwept() {
        var schedule = CaptureSchedule(interval: interval, hasDamage: false)
        schedule.noteGrab(at: second)
        #expect(schedule.due(at: second + interval) == .sweep)
    }

    @Test func aRateBelowOneFrameASecondHoldsForTheSweepToo() {
        var schedule = CaptureSchedule(interval: 3 * second, hasDamage: true)
        schedule.noteGrab(at: second)
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
