import Glibc
package import Pairing
package import Posix
import Time

/// Where the nearby process of this user is found: a lock that it holds, and its socket for commands.
package final class NearbyFolder {
    private static let socket = "control"
    private static let lock = "running"

    private let directory: FileDescriptor
    package let path: String

    package init(of store: PairStore) throws(SystemError) {
        path = store.folderPath
        store.makeFolder()
        directory = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY)
    }

    /// Held as long as a process runs.
    package struct Hold: ~Copyable {
        fileprivate let lock: FileDescriptor
    }

    /// - Returns: nil if another process runs.
    package func hold() throws(SystemError) -> Hold? {
        let lock = try directory.open(Self.lock, O_RDWR | O_CREAT)
        return try lock.tryLock(.exclusive) ? Hold(lock: lock) : nil
    }

    /// Waits until the process that runs has ended.
    ///
    /// - Returns: false if it still runs after a while.
    package func waitUntilFree(patience: Duration) throws(SystemError) -> Bool {
        let deadline: Instant = MonotonicClock.now() + patience
        while try hold() == nil {
            if MonotonicClock.now() >= deadline { return false }
            MonotonicClock.sleep(for: .milliseconds(10))
        }
        return true
    }

    /// For commands. An ended process may have left its own.
    package func listen(_ hold: borrowing Hold) throws(SystemError) -> LocalListener {
        try PrivateFile("\(path)/\(Self.socket)").remove()
        return try LocalListener(at: Self.socket, in: directory)
    }

    func connect(until deadline: Instant) throws(SystemError) -> LineChannel {
        try LineChannel(to: Self.socket, in: directory, until: deadline)
    }
}
