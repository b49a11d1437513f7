@testable import FrameBridge

/// What a writer did, store by store, by the steps that the real one follows.
struct WriterTrace {
    /// A word of one generation.
    enum Location: Hashable {
        case word(SharedWord)
        case number(slot: Int)
        case pixel(Int, slot: Int)
        case isRetired
    }

    enum Event {
        /// Whoever acquires the store knows of all events before `knowledge`.
        case store(UInt64, Location, generation: Int, knowledge: Int)
        /// Wakes the readers who sleep.
        case wake(generation: Int)
        /// The status file names another generation; the kernel lets nobody see an older one after it.
        case name(generation: Int)
    }

    /// A resize publishes too.
    enum Act { case publish, resize }

    static let pixels = 0..<2

    private(set) var events: [Event] = []
    /// Whether it was killed in the middle of something.
    private(set) var hasDied = false
    private let mistake: Mistake?
    private var generation = 1
    private var rotation = SlotRotation()
    private var frameNumber: UInt64 = 0
    /// All events before this one are ordered before later relaxed stores.
    private var fence = 0

    init(_ acts: [Act], _ mistake: Mistake? = nil) {
        self.mistake = mistake
        for act in acts { perform(act) }
    }

    /// The same one, killed after so many events.
    func killed(after count: Int) -> WriterTrace {
        var trace = self
        trace.events.removeSubrange(count...)
        trace.hasDied = true
        trace.generation = trace.named(at: count).generation
        return trace
    }

    /// After it, another writer that begins where this one ended.
    func succeeded(by acts: [Act]) -> WriterTrace {
        var trace = self
        trace.frameNumber = 0
        trace.fence = 0
        trace.retire(generation)
        trace.beginGeneration()
        for act in acts { trace.perform(act) }
        trace.hasDied = false
        return trace
    }

    /// The newest value of a word after `now` events.
    func newest(_ location: Location, _ generation: Int, at now: Int) -> UInt64 {
        for event in events[..<now].reversed() {
            if case .store(let value, location, generation, _) = event { return value }
        }
        return 0
    }

    /// The generation that the status file names after `now` events, and which of them said so.
    func named(at now: Int) -> (generation: Int, index: Int) {
        for index in (0..<now).reversed() {
            if case .name(let generation) = events[index] { return (generation, index) }
        }
        return (1, 0)
    }

    private mutating func perform(_ act: Act) {
        switch act {
        case .publish: publish()
        case .resize:
            beginGeneration()
            retire(generation - 1)
        }
    }

    private mutating func publish() {
        frameNumber += 1
        var publication = rotation.publication(of: frameNumber)
        if mistake == .writesOverLatest { rotation = SlotRotation() }
        var steps: [Publication.Step] = []
        while let step = publication.next() { steps.append(step) }
        mistake?.change(&steps)
        for step in steps { perform(step) }
    }

    private mutating func perform(_ step: Publication.Step) {
        switch step {
        case .store(let value, let word): store(value, .word(word))
        case .fence: fence = events.count
        case .draw(let slot):
            store(frameNumber, .number(slot: slot))
            for pixel in Self.pixels { store(frameNumber, .pixel(pixel, slot: slot)) }
        case .release(let value, let word): release(value, .word(word), of: generation)
        case .wake: wake(generation)
        }
    }

    /// With its first frame, and only then named.
    private mutating func beginGeneration() {
        generation += 1
        rotation = SlotRotation()
        publish()
        events.append(.name(generation: generation))
    }

    private mutating func retire(_ generation: Int) {
        release(1, .isRetired, of: generation)
        wake(generation)
    }

    private mutating func wake(_ generation: Int) {
        release(newest(.word(.wake), generation, at: events.count) + 1, .word(.wake), of: generation)
        events.append(.wake(generation: generation))
    }

    private mutating func store(_ value: UInt64, _ location: Location) {
        events.append(.store(value, location, generation: generation, knowledge: fence))
    }

    private mutating func release(_ value: UInt64, _ location: Location, of generation: Int) {
        events.append(.store(value, location, generation: generation, knowledge: events.count))
    }
}

/// A mistake in the order of things.
enum Mistake: CaseIterable {
    /// The writer does not mark the slot that it writes, ...
    case slotNotMarked
    /// ... or lets pixels out before the mark, ...
    case noFenceAfterMark
    /// ... or takes the mark away before the pixels are all out, ...
    case pixelsNotReleased
    /// ... or tells of the frame before it is whole, ...
    case toldTooEarly
    /// ... or writes where the latest frame is, with the same marks, ...
    case writesOverLatest
    /// ... or does not wake anybody.
    case nobodyWoken
    /// The reader takes a mark for none, ...
    case markIgnored
    /// ... or does not look again whether the slot was whole all the while, ...
    case noSecondLook
    /// ... or looks again too early, ...
    case noFenceBeforeSecondLook
    /// ... or reads pixels before it looks at the mark, ...
    case markNotAcquired
    /// ... or looks what there is before it looks at the word to sleep on.
    case sleepsOnNews

    /// Makes the mistake, if it is one of the writer's.
    func change(_ steps: inout [Publication.Step]) {
        switch self {
        case .slotNotMarked: steps.removeFirst()
        case .noFenceAfterMark: steps.removeAll { $0 == .fence }
        case .pixelsNotReleased:
            steps = steps.map { step in
                guard case .release(let value, let word) = step, word != .latest else { return step }
                return .store(value, word)
            }
        case .toldTooEarly:
            let latest = steps.remove(at: 4)
            steps.insert(latest, at: 0)
        case .nobodyWoken: steps.removeLast()
        default: break
        }
    }
}
