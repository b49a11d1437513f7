/// A word that writer and readers share, and by which they agree on what is whole.
enum SharedWord: Hashable {
    /// The sequence of one slot: odd while the slot is being written, and another even number after each time.
    case sequence(slot: Int)
    /// The newest that is whole: of frames the number << 8 | the slot, of sound the number of the block; 0 while there is none.
    case latest
    /// Advanced with every piece of news; readers sleep on it.
    case wake
}

/// How one frame, or block of sound, is published: the order of its shared stores, and nothing of how they are done. Whoever
/// drives it does what each step says before asking for the next, and may be killed between any two.
///
/// It is the writing half of a sequence lock (H.-J. Boehm, "Can seqlocks get along with programming language memory
/// models?", MSPC 2012), once for each slot.
struct Publication: Hashable {
    enum Step: Hashable {
        /// A relaxed store.
        case store(UInt64, SharedWord)
        /// Whoever sees one of the stores after it also sees all of those before it: a release fence.
        case fence
        /// Write what the slot holds besides its sequence.
        case draw(slot: Int)
        /// A releasing store: whoever acquires it sees all before it.
        case release(UInt64, SharedWord)
        /// A releasing addition of one to the wake word, then wake whoever sleeps on it.
        case wake
    }

    let slot: Int
    private let latest: UInt64
    private let sequence: UInt64
    private let stepCount: Int
    private var position = 0

    /// - Parameters:
    ///   - latest: what the word of that name says then.
    ///   - sequence: the slot's, before; even.
    init(as latest: UInt64, in slot: Int, sequence: UInt64) {
        self.init(in: slot, sequence: sequence, latest: latest, stepCount: 6)
    }

    /// Takes back what a slot holds: a publication that is begun and not brought to its end, so that the slot stays marked.
    ///
    /// - Parameter sequence: even; one less than the mark.
    init(erasing slot: Int, sequence: UInt64) {
        self.init(in: slot, sequence: sequence, latest: 0, stepCount: 3)
    }

    private init(in slot: Int, sequence: UInt64, latest: UInt64, stepCount: Int) {
        self.slot = slot
        self.sequence = sequence
        self.latest = latest
        self.stepCount = stepCount
    }

    /// What is to be done next; nil when it is out.
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

/// The slots of the writer's file, in a copy of its own: the words in the file may have been changed by
/// somebody else.
struct SlotRotation {
    private var sequences = [UInt64](repeating: 0, count: Layout.slotCount)
    /// The slot that was written last.
    private(set) var slot = 0

    /// Takes the slot that was not written for longest: never the latest one, nor the one before, where a reader may be.
    mutating func publication(of number: UInt64) -> Publication {
        slot = (slot + 1) % Layout.slotCount
        defer { sequences[slot] &+= 2 }
        return Publication(as: number << 8 | UInt64(slot), in: slot, sequence: sequences[slot])
    }
}
