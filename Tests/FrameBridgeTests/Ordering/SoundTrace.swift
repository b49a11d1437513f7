@testable import FrameBridge

/// What writers of sound did, one after the other and store by store, by the steps that the real one follows.
struct SoundTrace {
    enum Word: Hashable {
        case shared(SharedWord)
        case sample(Int, slot: Int)
        case isRetired
        case horizon
    }

    /// A word of one generation.
    struct Location: Hashable {
        let word: Word
        let generation: Int
    }

    enum Event {
        /// Whoever acquires the store knows of all events before `knowledge`.
        case store(UInt64, Location, knowledge: Int)
        /// Wakes the readers who sleep.
        case wake(generation: Int)
        /// A file comes into the folder, or goes.
        case place(generation: Int), remove(generation: Int)
        /// What was captured before is hidden: whoever had that done is told.
        case told(before: UInt64)
    }

    enum Act {
        case publish(capturedAt: UInt64)
        case hide(before: UInt64)
        /// Somebody removes the file.
        case lose
        /// The writer finds out.
        case replace
    }

    static let slots = 2
    static let samples = 0..<2

    private(set) var events: [Event] = []
    /// Whether the last writer was killed in the middle of something.
    private(set) var hasDied = false
    private let mistake: SoundMistake?
    private(set) var generation = 0
    /// The generation whose file a stranger has removed.
    private(set) var stolen: Int?
    private var head: UInt64 = 0
    private var horizon: UInt64 = 0
    /// When each block was captured, by generation and number.
    private var captures: [Int: [UInt64]] = [:]
    /// All events before this one are ordered before later relaxed stores.
    private var fence = 0

    init(_ acts: [Act], _ mistake: SoundMistake? = nil) {
        self.mistake = mistake
        live(acts)
    }

    /// The same one, killed after so many events.
    func killed(after count: Int) -> SoundTrace {
        var trace = self
        trace.events.removeSubrange(count...)
        trace.hasDied = true
        return trace
    }

    /// After it, another writer.
    func succeeded(by acts: [Act]) -> SoundTrace {
        var trace = self
        trace.hasDied = false
        trace.horizon = 0
        trace.live(acts)
        return trace
    }

    private mutating func live(_ acts: [Act]) {
        fence = 0
        beginGeneration()
        for act in acts { perform(act) }
    }

    func capturedAt(_ generation: Int, _ number: UInt64) -> UInt64 { captures[generation]![Int(number) - 1] }

    /// What is known to be hidden after `now` events.
    func hidden(at now: Int) -> UInt64 {
        events[..<now].reduce(0) { latest, event in
            if case .told(let before) = event { max(latest, before) } else { latest }
        }
    }

    /// The files in the folder after `now` events.
    func placed(at now: Int) -> [Int] {
        events[..<now].reduce(into: []) { files, event in
            switch event {
            case .place(let generation): files.append(generation)
            case .remove(let generation): files.removeAll { $0 == generation }
            default: break
            }
        }
    }

    private mutating func perform(_ act: Act) {
        switch act {
        case .publish(let capturedAt):
            head += 1
            captures[generation]!.append(capturedAt)
            perform(Publication(as: head, in: Int(head % UInt64(Self.slots)), sequence: head * 2))
        case .hide(let instant):
            horizon = max(horizon, instant)
            release(horizon, .horizon, of: generation)
            let first = head - min(head, UInt64(Self.slots)) + 1
            for number in stride(from: first, through: head, by: 1) where capturedAt(generation, number) < horizon {
                perform(Publication(erasing: Int(number % UInt64(Self.slots)), sequence: number * 2), isErasure: true)
            }
            events.append(.told(before: horizon))
        case .lose:
            stolen = generation
            events.append(.remove(generation: generation))
        case .replace: beginGeneration()
        }
    }

    private mutating func perform(_ publication: Publication, isErasure: Bool = false) {
        var publication = publication
        var steps: [Publication.Step] = []
        while let step = publication.next() { steps.append(step) }
        mistake?.change(&steps, isErasure: isErasure)
        for step in steps {
            switch step {
            case .store(let value, let word): store(value, .shared(word))
            case .fence: fence = events.count
            case .draw(let slot):
                for sample in Self.samples { store(isErasure ? 0 : head, .sample(sample, slot: slot)) }
            case .release(let value, let word): release(value, .shared(word), of: generation)
            case .wake: wake(generation)
            }
        }
    }

    /// Made before those that are there are retired and removed.
    private mutating func beginGeneration() {
        let former = placed(at: events.count) + [generation]
        horizon = max(horizon, former.map { newest(.horizon, $0) }.max()!)
        generation += 1
        captures[generation] = []
        head = 0
        if horizon > 0 { release(horizon, .horizon, of: generation) }
        events.append(.place(generation: generation))
        for former in Set(former).sorted() where former > 0 {
            if mistake != .leftNotRetired {
                release(1, .isRetired, of: former)
                wake(former)
            }
            events.append(.remove(generation: former))
        }
    }

    private mutating func wake(_ generation: Int) {
        release(newest(.shared(.wake), generation) + 1, .shared(.wake), of: generation)
        events.append(.wake(generation: generation))
    }

    private func newest(_ word: Word, _ generation: Int) -> UInt64 {
        let location = Location(word: word, generation: generation)
        for event in events.reversed() {
            if case .store(let value, location, _) = event { return value }
        }
        return 0
    }

    private mutating func store(_ value: UInt64, _ word: Word) {
        events.append(.store(value, Location(word: word, generation: generation), knowledge: fence))
    }

    private mutating func release(_ value: UInt64, _ word: Word, of generation: Int) {
        let location = Location(word: word, generation: generation)
        events.append(.store(value, location, knowledge: events.count))
    }
}

/// A mistake in the order of things.
enum SoundMistake: CaseIterable {
    /// The writer does not mark the slot that it writes, ...
    case slotNotMarked
    /// ... or lets samples out before the mark, ...
    case noFenceAfterMark
    /// ... or tells of a block before it is whole, ...
    case toldTooEarly
    /// ... or tells of it while its samples may not be out, ...
    case headNotReleased
    /// ... or takes samples back without a mark, ...
    case erasedUnmarked
    /// ... or does not wake anybody, ...
    case nobodyWoken
    /// ... or does not tell those who read what is left of an earlier one.
    case leftNotRetired
    /// The reader takes a mark for none, ...
    case markIgnored
    /// ... or does not look whether the slot still holds the block, ...
    case noLook
    /// ... or looks too early, ...
    case noFenceBeforeLook
    /// ... or reads samples before it knows of the block, ...
    case headNotAcquired
    /// ... or does not tell what it has lost, ...
    case lossNotTold
    /// ... or does not ask for the horizon, ...
    case horizonNotAsked
    /// ... or asks for that of the generation that it reads alone, ...
    case successorsHorizonNotAsked
    /// ... or looks what there is before it looks at the word to sleep on, ...
    case sleepsOnNews
    /// ... or sleeps on a generation that has ended.
    case retirementNotSeen

    /// Makes the mistake, if it is one of the writer's.
    func change(_ steps: inout [Publication.Step], isErasure: Bool) {
        switch self {
        case .slotNotMarked where !isErasure: steps.removeFirst()
        case .erasedUnmarked where isErasure: steps.removeFirst()
        case .noFenceAfterMark: steps.removeAll { $0 == .fence }
        case .headNotReleased:
            steps = steps.map { step in
                guard case .release(let value, let word) = step else { return step }
                return .store(value, word)
            }
        case .toldTooEarly where !isErasure: steps.insert(steps.remove(at: 4), at: 0)
        case .nobodyWoken where !isErasure: steps.removeLast()
        default: break
        }
    }
}
