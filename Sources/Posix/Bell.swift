import CPosix
import Glibc
import Synchronization
package import Time

/// Wakes a thread that sleeps on it. Any thread may ring it, any number of times. Cheap while no thread sleeps.
package final class Bell: Sendable {
    nonisolated(unsafe) private let word: UnsafeMutablePointer<Atomic<UInt32>>

    package init() {
        word = .allocate(capacity: 1)
        word.initialize(to: Atomic(0))
    }

    deinit {
        word.deinitialize(count: 1)
        word.deallocate()
    }

    /// How often it was rung. Read this before looking for work, and sleep while it stays the same: then no ring is
    /// lost.
    package var count: UInt32 { word.pointee.load(ordering: .acquiring) }

    package func ring() {
        word.pointee.wrappingAdd(1, ordering: .releasing)
        _ = posix_futex_wake(address, .max)
    }

    /// Sleeps while it was rung `count` times, at the longest until `deadline`; nil for no deadline. May return early.
    package func wait(while count: UInt32, until deadline: Instant? = nil) {
        guard let deadline else {
            posix_futex_wait(address, count, nil)
            return
        }
        var time = timespec(deadline)
        posix_futex_wait(address, count, &time)
    }

    /// Waits until something is so: looks now, and after each ring. Without a deadline it waits for ever.
    ///
    /// - Returns: whether it is so by the deadline.
    @discardableResult
    package func wait(until deadline: Instant? = nil, for isSo: () -> Bool) -> Bool {
        while true {
            let rings = count
            if isSo() { return true }
            if let deadline, MonotonicClock.now() >= deadline { return false }
            wait(while: rings, until: deadline)
        }
    }

    var address: UnsafePointer<UInt32> { UnsafePointer(UnsafeRawPointer(word).assumingMemoryBound(to: UInt32.self)) }
}
