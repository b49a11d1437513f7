import Posix

/// Whether to go to sleep: the order of the loads. What is published after the first one has advanced the word that is slept
/// on, so that the sleep ends at once.
struct Waiting: Hashable {
    enum Step: Hashable {
        /// A load with acquire ordering.
        case load(SharedWord)
        /// Sleep while the wake word is so.
        case sleep(while: UInt64)
        /// There is something to read.
        case end
    }

    private enum State: Hashable {
        case begin
        case loadingWake
        case loadingLatest(wake: UInt64)
        case slept
    }

    private let seen: UInt64
    private var state = State.begin

    /// - Parameter seen: the `latest` word of what was read last; 0 for none.
    init(after seen: UInt64) { self.seen = seen }

    /// What is to be done next.
    ///
    /// - Parameter value: what the step before loaded.
    mutating func next(_ value: UInt64 = 0) -> Step {
        switch state {
        case .begin:
            state = .loadingWake
            return .load(.wake)
        case .loadingWake:
            state = .loadingLatest(wake: value)
            return .load(.latest)
        case .loadingLatest(let wake):
            state = .slept
            return value == 0 || value == seen ? .sleep(while: wake) : .end
        case .slept:
            return .end
        }
    }

    /// Does what the steps say. Call it inside `mapping.guarded`.
    ///
    /// - Parameter header: says where the words stand.
    /// - Returns: the word to sleep on; nil when there is something to read.
    func wakeWord(in mapping: Mapping, _ header: HeaderMetadata) -> UInt32? {
        var waiting = self
        var step = waiting.next()
        while true {
            switch step {
            case .load(.wake): step = waiting.next(UInt64(mapping.loadAcquiring32(Layout.Header.wake)))
            case .load(let word): step = waiting.next(mapping.loadAcquiring64(header.offset(of: word)))
            case .sleep(let value): return UInt32(truncatingIfNeeded: value)
            case .end: return nil
            }
        }
    }
}
