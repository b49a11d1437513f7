import Glibc
package import Posix
import Synchronization

/// Suspends of a machine that goes on: what its kernel and clocks would tell.
package final class MachineSleep: Sendable {
    private let news: EventSignal
    private let time = Mutex(Duration.zero)

    package init() throws { news = try EventSignal() }

    /// What hears of them. It may outlive this.
    package func watch() -> sending SuspendWatch {
        let copy = FileDescriptor(taking: fcntl(news.raw, F_DUPFD_CLOEXEC, 3))
        return SuspendWatch(copy) { [self] in time.withLock(\.self) }
    }

    /// The machine was suspended for so long; or for no time, and somebody has set its clock.
    package func happen(for duration: Duration) {
        time.withLock { $0 += duration }
        news.set()
    }
}
