import Glibc
import Posix

private let interruption = try! EventSignal()

/// Ends the benchmark's children when it is itself ended. They have process groups of their own, so an interrupt at the
/// terminal does not reach them.
func stopChildrenOnSignals() {
    _ = interruption.raw  // made now, for a signal handler must not
    for number in [SIGINT, SIGTERM, SIGHUP] { signal(number) { _ in interruption.set() } }
    _ = try? Thread {
        waitReadable(interruption.raw, until: nil)
        ChildProcess.stopAll()
        TemporaryFolder.removeAll()
        exit(130)
    }
}
