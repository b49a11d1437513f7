import Posix
import TestSupport
import Testing
import Time

@Suite struct SuspendWatchTests {
    private func isReadable(_ watch: SuspendWatch) -> Bool { waitReadable(watch.descriptor.raw, until: .start) }

    @Test func eachSuspendIsToldOnce() throws {
        let sleep = try MachineSleep()
        sleep.happen(for: .seconds(1000))
        let watch = sleep.watch()
        // Of those before, only the news is left.
        #expect(watch.takeSuspend() == nil && !isReadable(watch))
        sleep.happen(for: .seconds(40))
        #expect(isReadable(watch))
        #expect(watch.takeSuspend() == .seconds(40))
        #expect(!isReadable(watch) && watch.takeSuspend() == nil)
        sleep.happen(for: .seconds(2))
        sleep.happen(for: .seconds(3))
        #expect(watch.takeSuspend() == .seconds(5))
    }

    /// Time servers and people set clocks, too.
    @Test(arguments: [Duration.zero, .milliseconds(999), .seconds(-5)])
    func whoSetsTheClockSuspendsNothing(difference: Duration) throws {
        let sleep = try MachineSleep()
        let watch = sleep.watch()
        sleep.happen(for: difference)
        #expect(isReadable(watch) && watch.takeSuspend() == nil && !isReadable(watch))
        sleep.happen(for: .seconds(60))
        #expect(watch.takeSuspend() == .seconds(60))
    }

    /// A machine that stays awake, with the clocks of the kernel: nothing wakes anybody.
    @Test func theKernelTellsNothingWithoutASuspend() throws {
        let watch = try SuspendWatch()
        #expect(!isReadable(watch) && watch.takeSuspend() == nil)
        #expect(MonotonicClock.suspendedTime() >= .seconds(-1))
    }
}
