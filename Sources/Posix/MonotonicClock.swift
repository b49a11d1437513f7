import Glibc
package import Time

/// The one clock of the program: CLOCK_MONOTONIC, the same in all processes of a machine.
package enum MonotonicClock {
    package static func now() -> Instant { Instant(nanoseconds: nanoseconds(CLOCK_MONOTONIC)) }

    /// Wall-clock time in nanoseconds since 1970; for sender reports and people only.
    package static func wallClock() -> UInt64 { nanoseconds(CLOCK_REALTIME) }

    /// How long the machine was suspended since its start. This clock stood still then.
    package static func suspendedTime() -> Duration {
        // In this order, a pause between the two makes the result smaller, and never looks like a suspend.
        let boot = nanoseconds(CLOCK_BOOTTIME)
        return .nanoseconds(Int64(clamping: boot) - Int64(clamping: nanoseconds(CLOCK_MONOTONIC)))
    }

    /// Processor time of the calling thread.
    package static func threadTime() -> Duration { .nanoseconds(nanoseconds(CLOCK_THREAD_CPUTIME_ID)) }

    /// Sleeps until an instant of this clock.
    package static func sleep(until deadline: Instant) {
        // Reading the clock needs no system call.
        if now() >= deadline { return }
        var time = timespec(deadline)
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }

    package static func sleep(for duration: Duration) { sleep(until: now() + duration) }

    private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

extension timespec {
    /// An instant, for calls that take it by CLOCK_MONOTONIC.
    init(_ instant: Instant) { self.init(nanoseconds: instant.nanoseconds) }

    /// A length of time; none if it is negative.
    init(_ duration: Duration) { self.init(nanoseconds: UInt64(max(0, duration.nanoseconds))) }

    private init(nanoseconds: UInt64) {
        self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}
