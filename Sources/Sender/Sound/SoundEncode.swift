import FrameBridge
import Media
import Posix
import SoundCoding
import Synchronization
import Time

/// The broadcast's sound, with a thread and readers of its own.
final class SoundEncode: Sendable {
    private let bell: Bell
    private let isStopping = Atomic(false)
    private let latest: Mutex<SoundStatistics>
    private let thread = Mutex<Thread?>(nil)

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - reader, broadcast: from now on only for the thread.
    ///   - sinks: get the packets.
    ///   - report: gets a sentence about a fault.
    init(
        _ reader: consuming sending SoundReader,
        of broadcast: consuming sending FrameReader,
        sinks: Sinks,
        report: @escaping @Sendable (String) -> Void
    ) throws(SystemError) {
        bell = sinks.bell
        latest = Mutex(SoundStatistics())
        let passedReader = Mutex<SoundReader?>(reader)
        let passedBroadcast = Mutex<FrameReader?>(broadcast)
        try thread.withLock { thread throws(SystemError) in
            thread = try Thread { [self] in
                let loop = SoundLoop(
                    passedReader.withLock { $0.take()! },
                    of: passedBroadcast.withLock { $0.take()! },
                    sinks: sinks,
                    report: report
                )
                loop.run(for: self)
            }
        }
    }

    var statistics: SoundStatistics { latest.withLock(\.self) }

    /// Ends the thread. The sinks get no packet afterwards.
    func stop() {
        isStopping.store(true, ordering: .sequentiallyConsistent)
        bell.ring()
        thread.withLock { $0.take() }?.join()
    }

    // MARK: - The thread's side

    var mustStop: Bool { isStopping.load(ordering: .sequentiallyConsistent) }

    func note(_ statistics: SoundStatistics) { latest.withLock { $0 = statistics } }
}
