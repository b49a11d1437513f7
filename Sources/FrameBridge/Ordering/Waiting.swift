import Posix

/// The decision to sleep: the order of its loads. A publication after the first load has advanced the wake word, so the
/// sleep ends at once.
struct Waiting: Hashable {
    enum Step: Hashable {
        /// A load with acquire ordering.
        case load(SharedWord)
        /// Sleep while the wake word has this value.
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

    /// The next step.
    ///
    /// - Parameter value: the value that the step before loaded.
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

    /// Performs the steps. Call it inside `mapping.guarded`.
    ///
    /// - Parameter header: has the offsets of the words.
    /// - Returns: the word to sleep on; nil if there is something to read.
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
