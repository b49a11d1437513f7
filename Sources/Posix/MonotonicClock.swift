package import Glibc
package import Time

/// The one clock of the program: CLOCK_MONOTONIC in nanoseconds, the same in all processes of a machine.
package enum MonotonicClock {
    package static func now() -> UInt64 { nanoseconds(CLOCK_MONOTONIC) }

    @_disfavoredOverload
    package static func now() -> Instant { Instant(nanoseconds: now()) }

    /// Wall-clock time in nanoseconds since 1970; for sender reports and people only.
    package static func wallClock() -> UInt64 { nanoseconds(CLOCK_REALTIME) }

    /// Processor time of the calling thread, in nanoseconds.
    package static func threadTime() -> UInt64 { nanoseconds(CLOCK_THREAD_CPUTIME_ID) }

    /// Sleeps until an instant of this clock.
    package static func sleep(until deadline: UInt64) {
        // Reading the clock needs no system call.
        if now() >= deadline { return }
        var time = timespec(nanoseconds: deadline)
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }

    private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

extension timespec {
    package init(nanoseconds: UInt64) {
        self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}
