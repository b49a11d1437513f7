/// A word that writer and readers share. By these words they agree on whole frames and blocks.
enum SharedWord: Hashable {
    /// The sequence of one slot: odd while the slot is being written, and a new even number afterwards.
    case sequence(slot: Int)
    /// The newest whole one. For frames: the number << 8 | the slot. For sound: the number of the block. 0 if there is
    /// none.
    case latest
    /// Advanced with every change; readers sleep on it.
    case wake
}

/// The publication of one frame, or block of sound: the order of its shared stores, without performing them. The caller
/// performs each step before it asks for the next, and may be killed between any two.
/// It is the writing half of a sequence lock (H.-J. Boehm, "Can seqlocks get along with programming language memory
/// models?", MSPC 2012), once for each slot.
struct Publication: Hashable {
    enum Step: Hashable {
        /// A relaxed store.
        case store(UInt64, SharedWord)
        /// A release fence: a reader that sees a later store also sees all earlier ones.
        case fence
        /// Write the data of the slot, without its sequence.
        case draw(slot: Int)
        /// A releasing store: a reader that acquires it sees all earlier stores.
        case release(UInt64, SharedWord)
        /// A releasing addition of one to the wake word. Then wake all sleeping readers.
        case wake
    }

    let slot: Int
    private let latest: UInt64
    private let sequence: UInt64
    private var stepCount = 6
    private var position = 0

    /// - Parameters:
    ///   - latest: the new value of `latest`.
    ///   - sequence: the slot's sequence before; even.
    init(as latest: UInt64, in slot: Int, sequence: UInt64) {
        (self.slot, self.latest, self.sequence) = (slot, latest, sequence)
    }

    /// Erases a slot: a publication that is begun and not finished, so that the slot stays marked.
    ///
    /// - Parameter sequence: even; one less than the mark.
    init(erasing slot: Int, sequence: UInt64) {
        self.init(as: 0, in: slot, sequence: sequence)
        stepCount = 3
    }

    mutating func next() -> Step? {
        guard position < stepCount else { return nil }
        position += 1
        return switch position {
        case 1: .store(sequence &+ 1, .sequence(slot: slot))
        case 2: .fence
        case 3: .draw(slot: slot)
        case 4: .release(sequence &+ 2, .sequence(slot: slot))
        case 5: .release(latest, .latest)
        default: .wake
        }
    }
}

/// The slots of the writer's file, as a private copy: other processes may have changed the words in the file.
struct SlotRotation {
    private var sequences = [UInt64](repeating: 0, count: Layout.slotCount)
    /// The slot that was written last.
    private(set) var slot = 0

    /// Picks the slot that was not written for longest. It is never the latest one, nor the one before, where a reader
    /// may be.
    mutating func publication(of number: UInt64) -> Publication {
        slot = (slot + 1) % Layout.slotCount
        defer { sequences[slot] &+= 2 }
        return Publication(as: number << 8 | UInt64(slot), in: slot, sequence: sequences[slot])
    }
}
