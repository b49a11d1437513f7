/// Whether to go to sleep: the order of the loads. A frame that comes after the first one has advanced the word that is
/// slept on, so that the sleep ends at once.
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

    /// - Parameter seen: the `latest` word of the frame that was read last; 0 for none.
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
}
