@testable import FrameBridge

/// Explores every way in which writers of sound and a reader may interleave, on weak memory. Readers store nothing and know nothing
/// of each other: one stands for all, and its death at any step is as if it were slow for ever.
struct SoundOrderingModel {
    /// What a reader is promised, and did not get.
    enum Violation: Error, Hashable {
        case torn(block: UInt64, samples: [UInt64])
        case notNext(UInt64, after: UInt64)
        case lostInVain(UInt64)
        case hidden(UInt64)
        case asleepForEver(after: UInt64)
        case leftBehind(generation: Int?)
        case damaged(SoundReading.Outcome)
    }

    private struct State: Hashable {
        var now = 0
        var reader: SoundModelReader
    }

    private let trace: SoundTrace
    private let mistake: SoundMistake?
    private var memory = WeakMemory<SoundTrace.Location>()
    /// The files in the folder, and what is known to be hidden, after so many events.
    private let placed: [[Int]]
    private let hidden: [UInt64]

    init(_ trace: SoundTrace, mistake: SoundMistake?) {
        self.trace = trace
        self.mistake = mistake
        placed = (0...trace.events.count).map { trace.placed(at: $0) }
        hidden = (0...trace.events.count).map { trace.hidden(at: $0) }
        for (index, event) in trace.events.enumerated() {
            guard case .store(let value, let location, let knowledge) = event else { continue }
            memory.append(index, value, location, knowledge: knowledge)
        }
    }

    /// Explores it all, and returns how many states there are.
    ///
    /// - Parameter reads: how many times the reader calls `read`, and waits where there is nothing.
    func explore(reads: Int) throws -> Int {
        let first = State(reader: SoundModelReader(readsLeft: reads))
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
            if case .wake(let generation) = trace.events[state.now] { next.reader.wake(generation, knowing: next.now) }
            states.append(next)
        } else {
            try checkSleeper(state.reader)
        }
        return try states + steps(of: state.reader, at: state.now).map { State(now: state.now, reader: $0) }
    }

    /// Who sleeps when all is said has all blocks of the last generation, unless the writer died before it could tell. Whose file
    /// a stranger has removed looks again by itself.
    private func checkSleeper(_ reader: SoundModelReader) throws(Violation) {
        guard reader.phase == .asleep, !trace.hasDied, reader.file != trace.stolen else { return }
        guard reader.file == trace.generation else { throw .leftBehind(generation: reader.file) }
        let head = newest(.shared(.latest), trace.generation, at: trace.events.count)
        guard reader.seen == head else { throw .asleepForEver(after: reader.seen) }
    }

    /// Who comes after all that finds the newest block that was told of.
    func checkRecovery() throws {
        let end = trace.events.count
        var heir = SoundModelReader(readsLeft: 1)
        heir.view.learn(end)
        while heir.phase != .done {
            let next = try steps(of: heir, at: end)
            precondition(next.count == 1, "whoever knows all has no choice")
            heir = next[0]
        }
        guard heir.file == placed[end].last else { throw Violation.leftBehind(generation: heir.file) }
        guard let file = heir.file else { return }
        let head = newest(.shared(.latest), file, at: end)
        guard heir.seen == head else { throw Violation.notNext(heir.seen, after: head) }
    }

    private func newest(_ word: SoundTrace.Word, _ generation: Int, at now: Int) -> UInt64 {
        memory.newest(SoundTrace.Location(word: word, generation: generation), at: now)
    }

    // MARK: - Steps of a reader

    /// All that a load may give after `now` events: each value with the reader as it is then.
    private func loads(
        _ word: SoundTrace.Word,
        of generation: Int,
        acquiring: Bool,
        by reader: SoundModelReader,
        at now: Int
    ) -> [(value: UInt64, reader: SoundModelReader)] {
        let location = SoundTrace.Location(word: word, generation: generation)
        return memory.loads(location, acquiring: acquiring, by: reader.view, at: now).map { value, view in
            var reader = reader
            reader.view = view
            return (value, reader)
        }
    }

    private func steps(of reader: SoundModelReader, at now: Int) throws(Violation) -> [SoundModelReader] {
        switch reader.phase {
        case .begin: return begin(reader, at: now)
        case .entering:
            return loads(.isRetired, of: reader.file!, acquiring: true, by: reader, at: now).map { isRetired, reader in
                var reader = reader
                reader.enter(isEnded: isRetired != 0)
                return reader
            }
        case .reading(let reading, let step): return try go(reader, reading, step, at: now)
        case .hiding(let number): return try hide(reader, number, at: now)
        case .waiting(let waiting, let step): return go(reader, waiting, step, at: now)
        case .asleep, .done: return []
        }
    }

    /// Looks for the generation, as it is or knowing all that was told by others.
    private func begin(_ reader: SoundModelReader, at now: Int) -> [SoundModelReader] {
        var told = reader
        if hidden[now] > 0 { told.view.learn(now) }
        return Set([reader, told]).flatMap { reader in
            var reader = reader
            reader.hidden = hidden[reader.view.knowledge]
            guard let present = reader.successor ?? reader.file else { return [follow(reader, at: now)] }
            return loads(.isRetired, of: present, acquiring: true, by: reader, at: now).map { isRetired, reader in
                let isPresent = isRetired == 0 && placed[now].contains(present)
                return isPresent ? reader.entering() : follow(reader, at: now)
            }
        }
    }

    private func follow(_ reader: SoundModelReader, at now: Int) -> SoundModelReader {
        var reader = reader
        reader.view.learn(now)
        let files = placed[now].filter { newest(.isRetired, $0, at: now) == 0 }
        if let found = files.last, found != reader.file, found != reader.successor {
            if let present = reader.successor ?? reader.file {
                reader.passedHorizon = max(reader.passedHorizon, newest(.horizon, present, at: now))
            }
            reader.open(found)
        }
        if reader.file != nil { return reader.entering() }
        reader.next = 1
        return finish(reader)
    }

    private func go(
        _ reader: SoundModelReader,
        _ reading: SoundReading,
        _ step: SoundReading.Step,
        at now: Int
    ) throws(Violation) -> [SoundModelReader] {
        func proceed(_ reader: SoundModelReader, _ value: UInt64 = 0) -> SoundModelReader {
            var (reader, reading) = (reader, reading)
            var step = reading.next(value)
            if step == .fence, mistake == .noFenceBeforeLook { step = reading.next() }
            if case .loadRelaxed = step, mistake == .noLook { step = reading.next(reader.wanted! * 2 + 2) }
            reader.phase = .reading(reading, step)
            return reader
        }
        switch step {
        case .load(let word), .loadRelaxed(let word):
            let isAcquiring = step == .load(word) && mistake != .headNotAcquired
            return loads(.shared(word), of: reader.file!, acquiring: isAcquiring, by: reader, at: now).map {
                value,
                reader in
                var (reader, value) = (reader, value)
                if word == .latest { reader.wanted = reader.next ?? value }
                if word != .latest, mistake == .markIgnored, !value.isMultiple(of: 2) { value += 1 }
                return proceed(reader, value)
            }
        case .fence:
            var reader = reader
            reader.view.fence()
            return [proceed(reader)]
        case .copy(let slot):
            let word = SoundTrace.Word.sample(reader.samples.count, slot: slot)
            return loads(word, of: reader.file!, acquiring: false, by: reader, at: now).map { value, reader in
                var reader = reader
                reader.samples.append(value)
                return reader.samples.count == SoundTrace.samples.count ? proceed(reader) : reader
            }
        case .end(let outcome): return [try conclude(reader, outcome, at: now)]
        }
    }

    private func conclude(
        _ reader: SoundModelReader,
        _ outcome: SoundReading.Outcome,
        at now: Int
    ) throws(Violation) -> SoundModelReader {
        var reader = reader
        switch outcome {
        case .none:
            if reader.next == nil { reader.next = 1 }
            if let successor = reader.successor {
                reader.proceed(to: successor)
                return reader.entering()
            }
            if reader.isEnded { reader.proceed(to: nil) }
            return finish(reader)
        case .erased(let number):
            try reader.account(for: number)
            return reader.entering()
        case .overwritten(let number):
            guard let expected = reader.next else { return reader.entering() }
            // The block before it is gone, or is so next.
            let head = newest(.shared(.latest), reader.file!, at: now)
            guard number > expected, number - 1 + UInt64(SoundTrace.slots) <= head + 1 else {
                throw .lostInVain(number)
            }
            if mistake != .lossNotTold { reader.accounted += number - expected }
            reader.next = number
            return finish(reader, mayWait: false)
        case .whole(let number):
            guard reader.samples.allSatisfy({ $0 == number }) else {
                throw .torn(block: number, samples: reader.samples)
            }
            try reader.account(for: number)
            reader.phase = .hiding(number)
            return reader
        case .wrongHead, .wrongSequence: throw .damaged(outcome)
        }
    }

    /// Gives out a block, unless it is hidden.
    private func hide(_ reader: SoundModelReader, _ number: UInt64, at now: Int) throws(Violation) -> [SoundModelReader]
    {
        let successor = mistake == .successorsHorizonNotAsked ? nil : reader.successor
        let capturedAt = trace.capturedAt(reader.file!, number)
        var readers: [SoundModelReader] = []
        for (horizon, after) in loads(.horizon, of: successor ?? reader.file!, acquiring: true, by: reader, at: now) {
            if capturedAt < max(horizon, reader.passedHorizon), mistake != .horizonNotAsked {
                readers.append(after.entering())
            } else {
                guard capturedAt >= reader.hidden else { throw .hidden(number) }
                readers.append(finish(after, mayWait: false))
            }
        }
        return readers
    }

    /// Ends a call of `read`.
    private func finish(_ reader: SoundModelReader, mayWait: Bool = true) -> SoundModelReader {
        var reader = reader
        reader.readsLeft -= 1
        reader.hidden = 0
        (reader.samples, reader.wanted) = ([], nil)
        reader.phase = .begin
        if reader.readsLeft == 0 {
            reader.phase = .done
        } else if mayWait, reader.file != nil {
            var waiting = Waiting(after: reader.seen)
            let step = waiting.next()
            reader.phase = .waiting(waiting, step)
        }
        return reader
    }

    private func go(
        _ reader: SoundModelReader,
        _ waiting: Waiting,
        _ step: Waiting.Step,
        at now: Int
    ) -> [SoundModelReader] {
        switch step {
        case .load(let word):
            return loads(.shared(word), of: reader.file!, acquiring: true, by: reader, at: now).map { value, reader in
                var (reader, waiting) = (reader, waiting)
                let step = waiting.next(value)
                reader.phase = .waiting(waiting, step)
                return reader
            }
        case .sleep(let value):
            return loads(.isRetired, of: reader.file!, acquiring: true, by: reader, at: now).map { isRetired, reader in
                var reader = reader
                // The kernel looks at the word as it is.
                let word = newest(.shared(.wake), reader.file!, at: now)
                let isNews = word != (mistake == .sleepsOnNews ? word : value)
                let isOver = isRetired != 0 && mistake != .retirementNotSeen
                reader.phase = isNews || isOver ? .begin : .asleep
                return reader
            }
        case .end:
            var reader = reader
            reader.phase = .begin
            return [reader]
        }
    }
}
