import Glibc
import Posix
import Time

/// Keeps a steady rate, without drift, for a limited time.
struct Pace {
    private let interval: Duration
    /// nil for never.
    private let end: Instant?
    private var next: Instant

    init(rate: Double, seconds: Double?) {
        let now: Instant = MonotonicClock.now()
        interval = .seconds(1 / rate)
        end = seconds.map { now + .seconds($0) }
        next = now
    }

    /// Restarts the beat after long preparations, so that it does not hurry to catch up.
    mutating func restart() { next = MonotonicClock.now() }

    /// Sleeps until the next beat. False: the time is over.
    mutating func wait() -> Bool {
        next += interval
        MonotonicClock.sleep(until: min(next, end ?? next))
        return end.map { MonotonicClock.now() < $0 } ?? true
    }
}

/// Prints a line at once, also into a pipe.
func printLine(_ text: String) {
    print(text)
    fflush(nil)
}
