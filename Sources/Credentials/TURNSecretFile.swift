import Helpers
import ICE
package import Posix
import Synchronization
import Time

/// The file of the TURN servers' secret, which is read again each minute. A thread of its own does so, as no call waits for a file.
package final class TURNSecretFile: Sendable {
    /// The outcome of reading the file again.
    enum News: Equatable {
        /// Logins are made of another secret from now on.
        case renewed
        /// The file cannot be read, or is empty, and the secret stays as it was. Reported once, until the file has a secret again.
        case unfit
    }

    private static let interval = Duration.seconds(60)

    private let path: String
    private let secret: TURNSecret
    private let files: NamedFiles
    private let isUnfit = Atomic(false)
    private let isClosed = Atomic(false)
    private let bell = Bell()
    private let thread = Mutex<Thread?>(nil)

    /// - Parameters:
    ///   - secret: the secret in the file now.
    ///   - files: reads the file, and no other.
    init(_ path: String, of secret: TURNSecret, by files: NamedFiles) {
        (self.path, self.secret, self.files) = (path, secret, files)
    }

    /// Starts the thread. Call it once the sandbox is closed.
    ///
    /// - Parameter renewed: is called on the thread when the secret is another one.
    package func begin(_ renewed: @escaping @Sendable () -> Void = {}) throws(SystemError) {
        try thread.withLock { thread throws(SystemError) in thread = try Thread { [self] in run(renewed) } }
    }

    /// Ends the thread, which may read for a second still.
    package func close() {
        isClosed.store(true, ordering: .releasing)
        bell.ring()
        thread.withLock { $0.take() }?.join()
    }

    /// Reads the file, and renews the secret. Waits a second at the most.
    func look() -> News? {
        guard let read = files.read() else { return nil }
        guard let text = read[0].flatMap({ Credentials.secret(from: $0) }) else {
            return isUnfit.exchange(true, ordering: .relaxed) ? nil : .unfit
        }
        isUnfit.store(false, ordering: .relaxed)
        guard text != secret.current else { return nil }
        secret.renew(text)
        return .renewed
    }

    // MARK: - The thread

    private func run(_ renewed: () -> Void) {
        while !bell.wait(until: MonotonicClock.now() + Self.interval, for: { isClosed.load(ordering: .acquiring) }) {
            switch look() {
            case .renewed:
                Console.note("\(path) was renewed: new logins of TURN servers are made of the new secret")
                renewed()
            case .unfit:
                Console.note(
                    "\(path) cannot be read again, or is empty; the last secret stays in use: mend the file"
                )
            case nil: break
            }
        }
    }
}
