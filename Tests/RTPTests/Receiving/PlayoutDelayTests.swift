import TestSupport
import Testing
import Time

@testable import RTP

@Suite struct PlayoutDelayTests {
    private var delay = PlayoutDelay()

    /// Packets 10 ms apart, from an instant on.
    ///
    /// - Parameter lateness: of a packet by its place, in samples; beside a transit of 1000.
    private mutating func note(_ count: Int, from start: Double = 0, lateness: (Int) -> Int = { _ in 0 }) {
        for index in 0..<count {
            delay.note(transit: 1000 + lateness(index), at: .seconds(start + Double(index) * 0.01))
        }
    }

    @Test mutating func beforeMuchIsKnownFortyMillisecondsAreWaited() {
        #expect(delay.wait(andFor: 0) == 1920 && delay.playout(andFor: 0) == nil)
        note(249)
        #expect(delay.wait(andFor: 0) == 1920)
        #expect(delay.playout(andFor: 0) == 2920)
        delay.note(transit: 1000, at: .seconds(2.5))
        #expect(delay.wait(andFor: 0) == 480)
    }

    /// Of a hundred packets, two may come too late.
    @Test mutating func fewLatePacketsAreNotWaitedFor() {
        note(1000) { $0 % 100 == 7 ? 4800 : 0 }
        #expect(delay.wait(andFor: 0) == 480)
        delay.forget()
        note(1000) { $0 % 100 < 3 ? 4800 : 0 }
        #expect(delay.wait(andFor: 0) == 4800 + 240)
        #expect(delay.wait(andFor: 960) == 4800 + 240 + 960)
    }

    @Test mutating func moreThanFourHundredMillisecondsAreNeverWaited() {
        note(1000) { 100 * $0 }
        #expect(delay.wait(andFor: 0) == 19_200)
        #expect(delay.lateness(of: 1500) == 500 && delay.lateness(of: 900) == -100)
    }

    /// Neither more nor less of a path that is used no longer.
    @Test mutating func whatIsTenSecondsOldIsForgotten() {
        note(300) { $0 % 2 == 0 ? 0 : 9600 }
        #expect(delay.wait(andFor: 0) == 9600 + 240)
        note(300, from: 20) { _ in 50_000 }
        #expect(delay.wait(andFor: 0) == 480)
        #expect(delay.playout(andFor: 0) == 51_000 + 480)
    }
}
