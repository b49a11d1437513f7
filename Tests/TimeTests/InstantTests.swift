import Testing
import Time

struct InstantTests {
    @Test(arguments: [(0, 0), (1, 1), (5_000_000_000, 7), (.max, 1), (.max, .max)] as [(UInt64, UInt64)])
    func instantsDifferByDurations(late: UInt64, early: UInt64) {
        let (late, early) = (Instant(nanoseconds: late), Instant(nanoseconds: early))
        let distance = Int64(clamping: late.nanoseconds - early.nanoseconds)
        #expect(late - early == .nanoseconds(distance))
        #expect(early - late == .nanoseconds(-distance))
        #expect(early + (late - early) <= late)
        #expect((early < late) == (early.nanoseconds < late.nanoseconds))
    }

    @Test func whatWouldLeaveTheRangeStaysAtItsEnd() {
        let instant = Instant(nanoseconds: 1_000_000_000)
        #expect(instant - .seconds(2) == Instant(nanoseconds: 0))
        #expect(instant + .seconds(-1) == Instant(nanoseconds: 0))
        #expect(instant + .milliseconds(-1) == Instant(nanoseconds: 999_000_000))
        #expect(Instant(nanoseconds: .max - 1) + .nanoseconds(2) == Instant(nanoseconds: .max))
        #expect(instant + .seconds(Int64(1) << 40) == instant + .nanoseconds(Int64.max))
        #expect(Instant(nanoseconds: .max) - .seconds(Int64(1) << 40) == Instant(nanoseconds: .max >> 1))
    }

    @Test func durationsHaveNanoseconds() {
        #expect(Duration.seconds(2).nanoseconds == 2_000_000_000)
        #expect(Duration.milliseconds(-1).nanoseconds == -1_000_000)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: -1_999_999_999).nanoseconds == -1)
        // On both sides of what 64 bits of attoseconds hold.
        for seconds in 8...11 as ClosedRange<Int64> {
            let duration = Duration(secondsComponent: seconds, attosecondsComponent: 1_999_999_999)
            #expect(duration.nanoseconds == seconds * 1_000_000_000 + 1)
            #expect((.zero - duration).nanoseconds == -seconds * 1_000_000_000 - 1)
        }
        #expect(Duration.seconds(Int64.max).nanoseconds == .max)
        #expect(Duration.seconds(Int64.min).nanoseconds == .min)
        #expect(Duration.milliseconds(1500).seconds == 1.5)
        #expect(Duration.microseconds(1500).milliseconds == 1.5)
    }

    @Test func theEarliestOfWhatIsThere() {
        let (one, two, three) = (Instant(nanoseconds: 1), Instant(nanoseconds: 2), Instant(nanoseconds: 3))
        #expect(earliest(nil, nil, nil, nil) == nil)
        #expect(earliest(nil, two) == two)
        #expect(earliest(three, nil, two, nil) == two)
        #expect(earliest(three, two, nil, one) == one)
    }
}
