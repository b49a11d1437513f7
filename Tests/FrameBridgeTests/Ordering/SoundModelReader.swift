@testable import FrameBridge

/// What one reader knows, and is about to do.
struct SoundModelReader: Hashable {
    enum Phase: Hashable {
        case begin
        case entering
        case reading(SoundReading, SoundReading.Step)
        /// A whole block is to be given out.
        case hiding(UInt64)
        case waiting(Waiting, Waiting.Step)
        case asleep
        case done
    }

    var readsLeft: Int
    var phase = Phase.begin
    var view = WeakMemory<SoundTrace.Location>.View()
    /// The generations that it has open; nil while it has none.
    private(set) var file: Int?
    var successor: Int?
    /// Whether the writer has said that nothing more comes in the file.
    private(set) var isEnded = false
    /// The number of the next block; nil for the newest.
    var next: UInt64?
    /// Of the block that is read.
    var wanted: UInt64?
    var samples: [UInt64] = []
    /// How many blocks of the file it got, knows as lost, or may not hear.
    var accounted: UInt64 = 0
    /// What was hidden, as it knew when it began to read.
    var hidden: UInt64 = 0
    /// Of the generations before.
    var passedHorizon: UInt64 = 0

    init(readsLeft: Int) { self.readsLeft = readsLeft }

    /// The number of the last block that it does not look for any more.
    var seen: UInt64 { (next ?? 1) - 1 }

    mutating func open(_ generation: Int) {
        if file == nil { file = generation } else { successor = generation }
    }

    mutating func proceed(to generation: Int?) {
        (file, successor) = (generation, nil)
        (next, accounted) = (1, 0)
    }

    func entering() -> SoundModelReader {
        var reader = self
        reader.phase = .entering
        return reader
    }

    mutating func enter(isEnded: Bool) {
        self.isEnded = isEnded
        (samples, wanted) = ([], nil)
        var reading = SoundReading(of: next, slots: SoundTrace.slots)
        let step = reading.next()
        phase = .reading(reading, step)
    }

    mutating func account(for number: UInt64) throws(SoundOrderingModel.Violation) {
        if next == nil { accounted = number - 1 }
        accounted += 1
        guard number == accounted else { throw .notNext(number, after: accounted - 1) }
        next = number + 1
    }

    mutating func wake(_ generation: Int, knowing knowledge: Int) {
        guard phase == .asleep, generation == file else { return }
        phase = .begin
        view.learn(knowledge)
    }
}
