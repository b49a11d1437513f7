import CPosix
import Glibc

/// Hears that the machine was suspended. The kernel sets the clock of the day then, and tells that; nothing wakes for it otherwise.
package final class SuspendWatch {
    /// What is shorter delays nothing that anybody would notice.
    private static let shortest = Duration.seconds(1)

    /// Readable while there is something to take.
    package let descriptor: FileDescriptor
    private let suspendedTime: () -> Duration
    private var before: Duration

    /// Begins to listen.
    package convenience init() throws(SystemError) {
        let raw = try check("timerfd") { posix_clock_watch() }
        self.init(FileDescriptor(taking: raw), suspendedTime: MonotonicClock.suspendedTime)
    }

    /// - Parameters:
    ///   - descriptor: becomes readable when the machine may have been suspended; 8 bytes are read from it.
    ///   - suspendedTime: how long it was so far, from any beginning.
    package init(_ descriptor: consuming FileDescriptor, suspendedTime: @escaping () -> Duration) {
        self.descriptor = descriptor
        self.suspendedTime = suspendedTime
        before = suspendedTime()
    }

    /// Takes what has come.
    ///
    /// - Returns: how long the machine was suspended since the last call; nil if it was not, as when somebody has set the clock.
    package func takeSuspend() -> Duration? {
        var count: UInt64 = 0
        // Of a timer that was cancelled, this is an error, by which it goes on.
        _ = read(descriptor.raw, &count, MemoryLayout<UInt64>.size)
        let now = suspendedTime()
        defer { before = now }
        return now - before >= Self.shortest ? now - before : nil
    }
}
