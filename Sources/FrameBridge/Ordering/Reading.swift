/// The reading of the latest frame: the order of its shared loads, and their meaning. The caller performs each step,
/// and passes loaded values to `next`. It is the reading half of the sequence lock of `Publication`.
struct Reading: Hashable {
    enum Step: Hashable {
        /// A load with acquire ordering: stores before the release of the value are visible from then on.
        case load(SharedWord)
        /// A relaxed load.
        case loadRelaxed(SharedWord)
        /// An acquire fence: no later load is done before an earlier one.
        case fence
        /// Copy the metadata of a slot, and pass the frame number in it to `next`.
        case copy(slot: Int)
        /// Check the copy, and look at the picture.
        case show(slot: Int)
        case end(Outcome)
    }

    enum Outcome: Hashable {
        case noFrame
        case unchanged
        /// The frame is whole, and is the one that `latest` named.
        case whole(latest: UInt64)
        /// The writer was faster, three times in a row.
        case contended
        /// The word names a slot that does not exist.
        case noSuchSlot
        /// The slot that the word names holds another frame, and is not being written.
        case misnumbered
    }

    private enum State: Hashable {
        case begin
        case loadingLatest
        case loadingSequence(latest: UInt64)
        case copying(Version)
        case copied(Version, number: UInt64)
        case rechecking(Version, number: UInt64)
        case showing(Version)
        case shown(Version)
        case checking(Version)
    }

    /// The slot's content when all is read, if it has not changed.
    private struct Version: Hashable {
        let latest: UInt64
        let sequence: UInt64
        var slot: Int { Reading.slot(of: latest) }
    }

    private static let mostTries = 3

    /// The `latest` word of the frame that was read before; 0 for none.
    private let seen: UInt64
    /// Whether `copy` copies the picture too, so that nobody can change it while it is shown.
    private let copiesPicture: Bool
    private var state = State.begin
    /// The `latest` word whose slot held a frame of another number; 0 for none.
    private var misnumbered: UInt64 = 0
    /// How often the writer was in the way.
    private(set) var overruns = 0

    init(after seen: UInt64, copiesPicture: Bool) {
        self.seen = seen
        self.copiesPicture = copiesPicture
    }

    /// The next step.
    ///
    /// - Parameter value: the value that the step before loaded; any value if it loaded none.
    mutating func next(_ value: UInt64 = 0) -> Step {
        switch state {
        case .begin:
            return go(to: .loadingLatest, .load(.latest))
        case .loadingLatest:
            if value == 0 { return .end(.noFrame) }
            if value == seen { return .end(.unchanged) }
            let slot = Self.slot(of: value)
            guard slot < Layout.slotCount else { return .end(.noSuchSlot) }
            return go(to: .loadingSequence(latest: value), .load(.sequence(slot: slot)))
        case .loadingSequence(let latest):
            guard value.isMultiple(of: 2) else { return tryAgain() }
            let version = Version(latest: latest, sequence: value)
            return go(to: .copying(version), .copy(slot: version.slot))
        case .copying(let version):
            return go(to: .copied(version, number: value), .fence)
        case .copied(let version, let number):
            return go(to: .rechecking(version, number: number), .loadRelaxed(.sequence(slot: version.slot)))
        case .rechecking(let version, let number):
            guard value == version.sequence else { return tryAgain() }
            guard number == version.latest >> 8 else {
                // Another whole frame may have come into the slot before the first look at its sequence number. Then
                // the word has changed since.
                if misnumbered == version.latest { return .end(.misnumbered) }
                misnumbered = version.latest
                return tryAgain()
            }
            return go(to: .showing(version), .show(slot: version.slot))
        case .showing(let version):
            if copiesPicture { return .end(.whole(latest: version.latest)) }
            return go(to: .shown(version), .fence)
        case .shown(let version):
            return go(to: .checking(version), .loadRelaxed(.sequence(slot: version.slot)))
        case .checking(let version):
            return value == version.sequence ? .end(.whole(latest: version.latest)) : tryAgain()
        }
    }

    private mutating func go(to state: State, _ step: Step) -> Step {
        self.state = state
        return step
    }

    private mutating func tryAgain() -> Step {
        overruns += 1
        guard overruns < Self.mostTries else { return .end(.contended) }
        return go(to: .loadingLatest, .load(.latest))
    }

    private static func slot(of latest: UInt64) -> Int { Int(latest & 0xFF) }
}
