import CPosix
import Glibc

/// Notices that the machine was suspended. The kernel sets the wall clock then, and reports that. There is no other
/// event.
package final class SuspendWatch {
    /// A shorter suspend delays nothing noticeably.
    private static let shortest = Duration.seconds(1)

    /// Readable while there is an event.
    package let descriptor: FileDescriptor
    private let suspendedTime: () -> Duration
    private var before: Duration

    package convenience init() throws(SystemError) {
        let raw = try check("timerfd") { posix_clock_watch() }
        self.init(FileDescriptor(taking: raw), suspendedTime: MonotonicClock.suspendedTime)
    }

    /// - Parameters:
    ///   - descriptor: becomes readable when the machine may have been suspended; 8 bytes are read from it.
    ///   - suspendedTime: the time in suspends so far, from any beginning.
    package init(_ descriptor: consuming FileDescriptor, suspendedTime: @escaping () -> Duration) {
        self.descriptor = descriptor
        self.suspendedTime = suspendedTime
        before = suspendedTime()
    }

    /// Takes the events.
    ///
    /// - Returns: how long the machine was suspended since the last call; nil if it was not, as when the clock was set.
    package func takeSuspend() -> Duration? {
        var count: UInt64 = 0
        // For a cancelled timer this fails, which re-arms it.
        _ = read(descriptor.raw, &count, MemoryLayout<UInt64>.size)
        let now = suspendedTime()
        defer { before = now }
        return now - before >= Self.shortest ? now - before : nil
    }
}
