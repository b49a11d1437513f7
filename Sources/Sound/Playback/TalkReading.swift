import FrameBridge
import Posix
import Synchronization
import Time

/// The thread that reads the voices of the peers of all senders as soon as they come.
final class TalkReading: Sendable {
    /// The greatest age of a block that is still played. A new reader gets the newest block, which may be old.
    private static let mostAge = Duration.milliseconds(200)
    private static let lookInterval = Duration.seconds(1)
    /// Blocks of one sender before the others have their turn: a ring may be written ever faster.
    private static let mostAtOnce = 128

    private let mixer: TalkMixer
    private let notify: @Sendable () -> Void
    private let bell = Bell()
    private let isClosed = Atomic(false)
    private let thread = Mutex<Thread?>(nil)

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - mixer: gets the blocks.
    ///   - notify: called on the thread when peers begin to speak, and when speech becomes possible or impossible.
    init(
        in broadcast: BridgeDirectory,
        into mixer: TalkMixer,
        notify: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        (self.mixer, self.notify) = (mixer, notify)
        try thread.withLock { thread throws(SystemError) in thread = try Thread { [self] in run(broadcast) } }
    }

    private func run(_ broadcast: BridgeDirectory) {
        var readers = TalkReaders(in: broadcast)
        var lookAt: Instant = MonotonicClock.now()
        while true {
            let rings = bell.count
            if isClosed.load(ordering: .acquiring) { return }
            if MonotonicClock.now() >= lookAt {
                readers.look()
                lookAt = MonotonicClock.now() + Self.lookInterval
            }
            for sender in readers.senders { read(sender, &readers) }
            if mixer.setSenders(readers.senders, isPossible: readers.isAnyThere) { notify() }
            readers.wait(until: lookAt, or: bell, while: rings)
        }
    }

    private func read(_ sender: Int32, _ readers: inout TalkReaders) {
        for _ in 0..<Self.mostAtOnce {
            let outcome = try? readers.read(of: sender) { block, samples in
                let now = MonotonicClock.now()
                guard block.capturedAt + Self.mostAge > now else { return }
                if mixer.append(block, samples, of: sender, at: now) { notify() }
            }
            // A damaged ring is left alone until its sender makes another.
            if outcome ?? SoundReader.Outcome.none == SoundReader.Outcome.none { return }
        }
    }

    /// Ends the thread. Further calls do nothing.
    func close() {
        isClosed.store(true, ordering: .releasing)
        bell.ring()
        thread.withLock { $0.take() }?.join()
    }
}
