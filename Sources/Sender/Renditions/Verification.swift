import Time

/// When to compare a fine picture at rest with the screen. Sans-IO: instants come from outside.
///
/// Macroblocks that are wrong are encoded again, and then compared once more. Edges may stay wrong, so that ends.
struct Verification {
    /// The comparison reads the whole picture, so a caret does not cause one at each blink.
    private static let interval = Duration.seconds(2)
    private static let mostRepairs = 2

    private enum State {
        case unknown
        /// So often have wrong macroblocks been chosen again.
        case repairing(Int)
        case done
    }

    private var state = State.unknown
    private var lastInstant: Instant?

    var isRepairing: Bool { if case .repairing = state { true } else { false } }

    mutating func noteNewPicture() { state = .unknown }

    func isDue(at now: Instant) -> Bool {
        switch state {
        case .unknown: lastInstant.map { now >= $0 + Self.interval } ?? true
        case .repairing: true
        case .done: false
        }
    }

    /// The picture was compared. Returns whether to encode the wrong macroblocks again.
    mutating func note(isRight: Bool, at now: Instant) -> Bool {
        lastInstant = now
        let count = if case .repairing(let count) = state { count } else { 0 }
        state = isRight || count == Self.mostRepairs ? .done : .repairing(count + 1)
        return isRepairing
    }
}
