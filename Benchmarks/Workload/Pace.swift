import Glibc
import Posix

/// Keeps a steady rate, without drift, for a limited time.
struct Pace {
    private let interval: UInt64
    private let end: UInt64
    private var next: UInt64

    init(rate: Double, seconds: Double?) {
        let now = MonotonicClock.now()
        interval = UInt64(1e9 / rate)
        end = seconds.map { now + UInt64($0 * 1e9) } ?? .max
        next = now
    }

    /// Restarts the beat after long preparations, so that it does not hurry to catch up.
    mutating func restart() { next = MonotonicClock.now() }

    /// Sleeps until the next beat. False: the time is over.
    mutating func wait() -> Bool {
        next += interval
        MonotonicClock.sleep(until: min(next, end))
        return MonotonicClock.now() < end
    }
}

/// Prints a line at once, also into a pipe.
func printLine(_ text: String) {
    print(text)
    fflush(nil)
}
