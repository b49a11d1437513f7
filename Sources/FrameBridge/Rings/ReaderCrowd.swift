import Posix
import Synchronization

/// Wakes any number of readers by a thread of its own, which ends with it.
///
/// They are woken after the wake word has advanced. A reader that is about to sleep notices that. A reader that is
/// woken late finds the newest frame. A writer that dies before the thread is done has woken some readers, as if it had
/// died a moment earlier.
final class ReaderCrowd: Sendable {
    private final class Work: Sendable {
        let bell = Bell()
        let isOver = Atomic<Bool>(false)
    }

    private let work = Work()

    init(of mapping: Mapping) throws(SystemError) {
        nonisolated(unsafe) let mapping = mapping
        _ = try Thread { [work] in
            var rings: UInt32 = 0
            while true {
                work.bell.wait(while: rings)
                if work.isOver.load(ordering: .acquiring) { return }
                let count = work.bell.count
                if count == rings { continue }
                rings = count
                _ = mapping.wake(Layout.Header.wake)
            }
        }
    }

    deinit {
        work.isOver.store(true, ordering: .releasing)
        work.bell.ring()
    }

    func wake() { work.bell.ring() }
}
