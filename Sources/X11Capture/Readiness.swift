import Glibc
import Posix

/// Waits on one descriptor.
enum Readiness {
    /// Returns true when `descriptor` is readable or broken, false when `deadline` (monotonic, ns) has passed.
    static func wait(for descriptor: Int32, until deadline: UInt64) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let now = MonotonicClock.now()
            let left = deadline > now ? deadline - now : 0
            let milliseconds = Int32(clamping: (left + 999_999) / 1_000_000)
            let count = poll(&request, 1, milliseconds)
            if count > 0 { return true }
            if count == 0 && left == 0 { return false }
        }
    }
}
