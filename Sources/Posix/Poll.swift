import CPosix
import Glibc

/// Waits until one of the descriptors (at most eight) is readable or hung up, or until `deadline` of the monotonic
/// clock.
package func waitReadable(_ descriptors: [Int32], until deadline: UInt64) {
    let now = MonotonicClock.now()
    var timeout = timespec(nanoseconds: deadline > now ? deadline - now : 0)
    posix_wait_readable(descriptors, Int32(descriptors.count), &timeout)
}
