/// How the next block of sound is read: the order of its shared loads, and what they mean. Whoever drives it does what each
/// step says, and gives what was loaded to `next`. The reading half of the sequence lock of `Publication`.
///
/// The sequence of a slot tells which block it holds: 2n + 2 if that is block n, whole, and 2n + 1 while n is being written, or
/// once it was taken back. It never goes back; so one look after the copy is enough, and nothing is tried again.
struct SoundReading: Hashable {
    enum Step: Hashable {
        /// A load with acquire ordering: what was stored before the value was released is visible from then on.
        case load(SharedWord)
        /// A relaxed load.
        case loadRelaxed(SharedWord)
        /// No later load is done before an earlier one: an acquire fence.
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
        /// The block of this number may not be heard any more.
        case erased(UInt64)
        /// The writer was a lap ahead; this is the next block that may be there.
        case overwritten(next: UInt64)
        /// The word that tells of the newest block makes no sense.
        case wrongHead
        /// The sequence of the slot makes no sense.
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
    ///   - number: of the block that is wanted, the next one after what was read; nil for the newest.
    ///   - slots: how many the ring has.
    init(of number: UInt64?, slots: Int = SoundLayout.slotCount) {
        self.number = number
        self.slots = UInt64(slots)
    }

    /// What is to be done next.
    ///
    /// - Parameter value: what the step before loaded; anything when it loaded nothing.
    mutating func next(_ value: UInt64 = 0) -> Step {
        switch state {
        case .begin:
            return go(to: .loadingHead, .load(.latest))
        case .loadingHead:
            guard value <= SoundLayout.mostBlocks, value + 1 >= number ?? 1 else { return .end(.wrongHead) }
            let wanted = number ?? value
            if value < wanted || value == 0 { return .end(.none) }
            // The writer may be over the oldest one already: whoever has lost others does not look for that.
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

    /// Why the slot does not hold the block that is wanted, by its sequence.
    private func end(_ wanted: UInt64, _ sequence: UInt64) -> Step {
        // It was whole before the newest was told of.
        if sequence == wanted * 2 + 1 { return .end(.erased(wanted)) }
        guard sequence > wanted * 2, sequence <= SoundLayout.mostBlocks * 2 else { return .end(.wrongSequence) }
        guard slot(of: (sequence - 1) / 2) == slot(of: wanted) else { return .end(.wrongSequence) }
        // How far the writer is, the next look at the newest block tells: no later one need be visible here yet.
        return .end(.overwritten(next: wanted + 1))
    }

    private func slot(of number: UInt64) -> Int { Int(number % slots) }
}
