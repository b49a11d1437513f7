/// The reading of the next block of sound: the order of its shared loads, and their meaning. The caller performs each
/// step, and passes loaded values to `next`. It is the reading half of the sequence lock of `Publication`.
///
/// The sequence of a slot names its block: 2n + 2 if block n is whole, and 2n + 1 while n is being written, or after it
/// was erased. It never goes back. So one look after the copy is enough, and nothing is repeated.
struct SoundReading: Hashable {
    enum Step: Hashable {
        /// A load with acquire ordering: stores before the release of the value are visible from then on.
        case load(SharedWord)
        /// A relaxed load.
        case loadRelaxed(SharedWord)
        /// An acquire fence: no later load is done before an earlier one.
        case fence
        /// Copy metadata and samples of a slot.
        case copy(slot: Int)
        case end(Outcome)
    }

    enum Outcome: Hashable {
        /// There is no such block yet.
        case none
        /// The copy is whole: the block of this number.
        case whole(UInt64)
        /// The block of this number must not be heard any more.
        case erased(UInt64)
        /// The writer was a lap ahead. This is the next block that may be there.
        case overwritten(next: UInt64)
        /// The word with the number of the newest block is invalid.
        case wrongHead
        /// The sequence of the slot is invalid.
        case wrongSequence
    }

    private enum State: Hashable {
        case begin
        case loadingHead
        case copying(UInt64)
        case copied(UInt64)
        case checking(UInt64)
    }

    private let number: UInt64?
    private let slots: UInt64
    private var state = State.begin

    /// - Parameters:
    ///   - number: the wanted block, after the last one read; nil for the newest.
    ///   - slots: the count of slots in the ring.
    init(of number: UInt64?, slots: Int = SoundLayout.slotCount) {
        self.number = number
        self.slots = UInt64(slots)
    }

    /// The next step.
    ///
    /// - Parameter value: the value that the step before loaded; any value if it loaded none.
    mutating func next(_ value: UInt64 = 0) -> Step {
        switch state {
        case .begin:
            return go(to: .loadingHead, .load(.latest))
        case .loadingHead:
            guard value <= SoundLayout.mostBlocks, value + 1 >= number ?? 1 else { return .end(.wrongHead) }
            let wanted = number ?? value
            if value < wanted || value == 0 { return .end(.none) }
            // The writer may be overwriting the oldest block already. A reader that has lost others does not look for
            // it.
            guard value - wanted < slots else { return .end(.overwritten(next: value + 2 - slots)) }
            return go(to: .copying(wanted), .copy(slot: slot(of: wanted)))
        case .copying(let wanted):
            return go(to: .copied(wanted), .fence)
        case .copied(let wanted):
            return go(to: .checking(wanted), .loadRelaxed(.sequence(slot: slot(of: wanted))))
        case .checking(let wanted):
            return value == wanted * 2 + 2 ? .end(.whole(wanted)) : end(wanted, value)
        }
    }

    private mutating func go(to state: State, _ step: Step) -> Step {
        self.state = state
        return step
    }

    /// The outcome for a slot without the wanted block, from its sequence.
    private func end(_ wanted: UInt64, _ sequence: UInt64) -> Step {
        // It was whole before the newest block was announced.
        if sequence == wanted * 2 + 1 { return .end(.erased(wanted)) }
        guard sequence > wanted * 2, sequence <= SoundLayout.mostBlocks * 2 else { return .end(.wrongSequence) }
        guard slot(of: (sequence - 1) / 2) == slot(of: wanted) else { return .end(.wrongSequence) }
        // The next look at the newest block shows how far the writer is. Later stores need not be visible here yet.
        return .end(.overwritten(next: wanted + 1))
    }

    private func slot(of number: UInt64) -> Int { Int(number % slots) }
}
