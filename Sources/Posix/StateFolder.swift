import Glibc
import Time

/// This user's folder for state that outlasts a broadcast (XDG Base Directory Specification 0.8).
package struct StateFolder: Sendable {
    /// There is no such folder: the environment names none.
    package struct Missing: Error, Equatable, CustomStringConvertible {
        let purpose: String

        package var description: String { "there is no place for \(purpose): set HOME or XDG_STATE_HOME" }
    }

    package let path: String

    /// - Parameters:
    ///   - purpose: the purpose of the folder, for the sentence.
    ///   - environment: finds a variable.
    package init(
        for purpose: String,
        environment: (String) -> String? = StateFolder.environment
    ) throws(Missing) {
        // A path that is not absolute does not count.
        func folder(_ name: String) -> String? { environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        guard let state = folder("XDG_STATE_HOME") ?? folder("HOME").map({ "\($0)/.local/state" }) else {
            throw Missing(purpose: purpose)
        }
        path = "\(state)/oriel"
    }

    /// A variable of the environment; nil if it is not set, or empty.
    package static func environment(_ name: String) -> String? {
        getenv(name).flatMap { $0.pointee == 0 ? nil : String(cString: $0) }
    }

    private init(path: String) { self.path = path }

    package func folder(_ name: String) -> StateFolder { StateFolder(path: "\(path)/\(name)") }

    /// Makes the folder, unless it is there.
    ///
    /// - Returns: whether files can be made in it.
    @discardableResult
    package func make() -> Bool {
        var path = ""
        for part in self.path.split(separator: "/") {
            path += "/\(part)"
            mkdir(path, 0o700)
        }
        return access(path, W_OK | X_OK) == 0
    }

    /// Takes the folder's lock, which is held as long as the descriptor is open.
    ///
    /// - Parameter patience: how long to wait for another process.
    /// - Returns: nil if another process holds it all that time.
    package func lock(patience: Duration) throws(SystemError) -> FileDescriptor? {
        let lock = try FileDescriptor.open(lockPath, O_RDWR | O_CREAT)
        let deadline: Instant = MonotonicClock.now() + patience
        while try !lock.tryLock(.exclusive) {
            if MonotonicClock.now() >= deadline { return nil }
            MonotonicClock.sleep(for: .milliseconds(5))
        }
        return lock
    }

    package var lockPath: String { "\(path)/lock" }
}
