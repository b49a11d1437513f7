@testable import FrameBridge

/// Explores every way in which a writer and its readers may interleave, on weak memory. A reader stores nothing: its death at any
/// step is as if it were slow for ever.
struct OrderingModel {
    typealias Location = WriterTrace.Location

    /// What readers are promised, and did not get.
    enum Violation: Error, Hashable {
        case torn(frame: UInt64, pixels: [UInt64])
        case backwards(from: UInt64, to: UInt64)
        case notAnnounced(UInt64)
        case asleepForEver(after: UInt64)
        case noPictureAfterDeath(Reading.Outcome)
        case damaged(Reading.Outcome)
    }

    private struct State: Hashable {
        var now = 0
        var readers: [ModelReader]
    }

    private let trace: WriterTrace
    private let mistake: Mistake?
    /// Of each generation.
    private var memory: [Int: WeakMemory<Location>] = [:]

    init(_ trace: WriterTrace, mistake: Mistake?) {
        self.trace = trace
        self.mistake = mistake
        for (index, event) in trace.events.enumerated() {
            guard case .store(let value, let location, let generation, let knowledge) = event else { continue }
            memory[generation, default: WeakMemory()].append(index, value, location, knowledge: knowledge)
        }
    }

    /// Explores it all, and returns how many states there are.
    ///
    /// - Parameter reads: of each reader, how many times it calls `read`, and waits after it.
    func explore(reads: [Int]) throws -> Int {
        let first = State(readers: reads.map { ModelReader(readsLeft: $0) })
        var known: Set<State> = [first]
        var open = [first]
        while let state = open.popLast() {
            for next in try successors(of: state) where known.insert(next).inserted { open.append(next) }
        }
        return known.count
    }

    private func successors(of state: State) throws(Violation) -> [State] {
        var states: [State] = []
        if state.now < trace.events.count {
            var next = state
            next.now += 1
            if case .wake(let generation) = trace.events[state.now] {
                for index in next.readers.indices { next.readers[index].wake(generation, knowing: next.now) }
            }
            states.append(next)
        } else {
            try checkSleepers(state)
        }
        for index in state.readers.indices {
            for reader in try steps(of: state.readers[index], at: state.now) {
                var next = state
                next.readers[index] = reader
                states.append(next)
            }
        }
        // Readers know nothing of each other: which is which does not matter.
        return states.map { state in
            var state = state
            state.readers.sort { $0.hashValue < $1.hashValue }
            return state
        }
    }

    /// Who sleeps when all is said has seen the last frame, unless the writer died before it could tell. Who sleeps on
    /// a retired generation looks again by itself.
    private func checkSleepers(_ state: State) throws(Violation) {
        guard !trace.hasDied else { return }
        let end = trace.events.count
        for reader in state.readers where reader.phase == .asleep {
            guard newest(.isRetired, reader.generation, at: end) == 0 else { continue }
            let latest = newest(.word(.latest), reader.generation, at: end)
            guard reader.seen == latest else { throw .asleepForEver(after: reader.seen) }
        }
    }

    /// Who comes after the writer's death finds the frame that was announced last.
    func checkRecovery() throws {
        let end = trace.events.count
        var heir = ModelReader(readsLeft: 1)
        heir.view.learn(end)
        heir.generation = trace.named(at: end).generation
        while true {
            let next = try steps(of: heir, at: end)
            precondition(next.count == 1, "whoever knows all has no choice")
            heir = next[0]
            guard case .ended(let outcome) = heir.phase else { continue }
            let latest = newest(.word(.latest), heir.generation, at: end)
            guard outcome == (latest == 0 ? .noFrame : .whole(latest: latest)) else {
                throw Violation.noPictureAfterDeath(outcome)
            }
            return
        }
    }

    // MARK: - Steps of a reader

    /// All that a load may give after `now` events: each value with the reader as it is then.
    private func loads(
        _ location: Location,
        acquiring: Bool,
        by reader: ModelReader,
        at now: Int
    ) -> [(value: UInt64, reader: ModelReader)] {
        let memory = memory[reader.generation] ?? WeakMemory()
        return memory.loads(location, acquiring: acquiring, by: reader.view, at: now).map { value, view in
            var reader = reader
            reader.view = view
            return (value, reader)
        }
    }

    private func newest(_ location: Location, _ generation: Int, at now: Int) -> UInt64 {
        memory[generation]?.newest(location, at: now) ?? 0
    }

    private func steps(of reader: ModelReader, at now: Int) throws(Violation) -> [ModelReader] {
        switch reader.phase {
        case .begin: return begin(reader, at: now)
        case .reading(let reading, let step): return try go(reader, reading, step, at: now)
        case .ended(let outcome): return [try conclude(reader, outcome)]
        case .waiting(let waiting, let step): return go(reader, waiting, step, at: now)
        case .asleep, .done: return []
        }
    }

    private func begin(_ reader: ModelReader, at now: Int) -> [ModelReader] {
        loads(.isRetired, acquiring: true, by: reader, at: now).map { isRetired, reader in
            var reader = reader
            if isRetired != 0 {
                let (generation, index) = trace.named(at: now)
                reader.view.learn(index)
                if generation != reader.generation { reader.follow(to: generation) }
            }
            reader.enter(Reading(after: reader.seen, copiesPicture: false), mistake)
            return reader
        }
    }

    private func go(
        _ reader: ModelReader,
        _ reading: Reading,
        _ step: Reading.Step,
        at now: Int
    ) throws(Violation) -> [ModelReader] {
        func load(_ location: Location, acquiring: Bool) -> [ModelReader] {
            loads(location, acquiring: acquiring, by: reader, at: now).map { value, reader in
                var (reader, value) = (reader, value)
                if mistake == .markIgnored, case .word(.sequence) = location { value &= ~1 }
                if case .load = step { reader.sequence = value }
                reader.enter(reading, mistake, value)
                return reader
            }
        }
        switch step {
        case .load(let word):
            let isMark = word != .latest
            return load(.word(word), acquiring: !(isMark && mistake == .markNotAcquired))
        case .loadRelaxed(let word): return load(.word(word), acquiring: false)
        case .fence:
            var reader = reader
            reader.view.fence()
            reader.enter(reading, mistake)
            return [reader]
        case .copy(let slot): return load(.number(slot: slot), acquiring: false)
        case .show(let slot):
            let pixel = reader.pixels.count
            return loads(.pixel(pixel, slot: slot), acquiring: false, by: reader, at: now).map { value, reader in
                var reader = reader
                reader.pixels.append(value)
                if reader.pixels.count == WriterTrace.pixels.count { reader.enter(reading, mistake) }
                return reader
            }
        case .end: preconditionFailure("an end is a phase of its own")
        }
    }

    private func conclude(_ reader: ModelReader, _ outcome: Reading.Outcome) throws(Violation) -> ModelReader {
        var reader = reader
        reader.readsLeft -= 1
        if outcome == .misnumbered || outcome == .noSuchSlot { throw .damaged(outcome) }
        if case .whole(let latest) = outcome {
            let number = latest >> 8
            guard reader.pixels.allSatisfy({ $0 == number }) else {
                throw .torn(frame: number, pixels: reader.pixels)
            }
            guard reader.seen >> 8 < number else { throw .backwards(from: reader.seen >> 8, to: number) }
            reader.seen = latest
        }
        reader.pixels = []
        reader.sequence = 0
        guard reader.readsLeft > 0 else {
            reader.phase = .done
            return reader
        }
        if outcome == .contended {
            reader.phase = .begin
            return reader
        }
        var waiting = Waiting(after: reader.seen)
        let step = waiting.next()
        reader.phase = .waiting(waiting, step)
        return reader
    }

    private func go(_ reader: ModelReader, _ waiting: Waiting, _ step: Waiting.Step, at now: Int) -> [ModelReader] {
        switch step {
        case .load(let word):
            return loads(.word(word), acquiring: true, by: reader, at: now).map { value, reader in
                var (reader, waiting) = (reader, waiting)
                let step = waiting.next(value)
                reader.phase = .waiting(waiting, step)
                return reader
            }
        case .sleep(let value):
            var reader = reader
            // The kernel looks at the word as it is.
            let word = newest(.word(.wake), reader.generation, at: now)
            let isNews = word != (mistake == .sleepsOnNews ? word : value)
            reader.phase = isNews ? .begin : .asleep
            return [reader]
        case .end:
            var reader = reader
            reader.phase = .begin
            return [reader]
        }
    }
}

/// What one reader knows, and is about to do.
struct ModelReader: Hashable {
    enum Phase: Hashable {
        case begin
        case reading(Reading, Reading.Step)
        case ended(Reading.Outcome)
        case waiting(Waiting, Waiting.Step)
        case asleep
        case done
    }

    var readsLeft: Int
    var generation = 1
    var phase = Phase.begin
    var view = WeakMemory<WriterTrace.Location>.View()
    /// What it takes for the mark of the slot that it reads.
    var sequence: UInt64 = 0
    var pixels: [UInt64] = []
    /// The `latest` word of the frame that it has.
    var seen: UInt64 = 0

    init(readsLeft: Int) { self.readsLeft = readsLeft }

    mutating func follow(to generation: Int) {
        self.generation = generation
        view.forget()
        seen = 0
    }

    mutating func wake(_ generation: Int, knowing knowledge: Int) {
        guard phase == .asleep, generation == self.generation else { return }
        phase = .begin
        view.learn(knowledge)
    }

    /// Goes on with what the step before loaded.
    mutating func enter(_ reading: Reading, _ mistake: Mistake?, _ value: UInt64 = 0) {
        var reading = reading
        var step = reading.next(value)
        if step == .fence, mistake == .noFenceBeforeSecondLook { step = reading.next() }
        if case .loadRelaxed = step, mistake == .noSecondLook { step = reading.next(sequence) }
        if case .copy = step { pixels = [] }
        if case .end(let outcome) = step { phase = .ended(outcome) } else { phase = .reading(reading, step) }
    }
}
