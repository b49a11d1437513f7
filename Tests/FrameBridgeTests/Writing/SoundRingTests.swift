import Glibc
import Posix
import TestSupport
import Testing
import Time

@testable import FrameBridge

/// Samples that follow from the number of their block.
func tone(_ number: UInt64, channels: Int = 2) -> [Int16] {
    (0..<SoundBlock.samples * channels).map { Int16(truncatingIfNeeded: Int(truncatingIfNeeded: number) &* 977 &+ $0) }
}

/// When a block of the tests is captured: each 10 ms after the one before.
func heard(_ number: UInt64) -> Instant { Instant(nanoseconds: number * 10_000_000) }

extension SoundWriter {
    /// Writes one more block of a tone.
    mutating func write(_ number: UInt64, channels: Int = 2, at instant: Instant? = nil) throws(BridgeError) {
        let samples = tone(number, channels: channels)
        try write(samples.span, channels: channels, capturedAt: instant ?? heard(number), follows: number > 1)
    }
}

extension SoundReader {
    /// The next outcome, of whichever generation; whoever gets a block looks whether its samples are those of its number, counted from `first`.
    mutating func next(first: UInt64 = 0) throws -> Outcome {
        var samples: [Int16] = []
        let outcome = try read { _, span in samples = span.indices.map { span[$0] } }
        guard case .block(var block) = outcome else { return outcome }
        #expect(samples == tone(block.number + first, channels: block.channels))
        #expect(block.generation != 0)
        block.generation = 0
        return .block(block)
    }

    /// The numbers of all blocks that there are.
    mutating func numbers() throws -> [UInt64] {
        var numbers: [UInt64] = []
        while case .block(let block) = try next() { numbers.append(block.number) }
        return numbers
    }
}

@Suite struct SoundRingTests {
    private let folder = ScratchFolder()

    private func soundFiles() -> [String] {
        folder.files().filter { RingFile.generation(of: $0, in: SoundWriter.soundRing) != nil }
    }

    @Test(arguments: FrameStorage.allCases)
    func everyBlockComesAsItWasWritten(storage: FrameStorage) throws {
        let directory = try folder.bridge()
        var writer = try SoundWriter(in: directory, storage: storage)
        var reader = SoundReader(directory: directory)
        #expect(try reader.next() == .none)
        for number in UInt64(1)...1000 {
            let channels = 1 + Int(number % 2)
            try writer.write(number, channels: channels)
            let block = SoundBlock(number: number, capturedAt: heard(number), channels: channels, follows: number > 1)
            #expect(try reader.next() == .block(block))
            #expect(try reader.next() == .none)
        }
    }

    @Test func aNewReaderBeginsWithTheNewestBlock() throws {
        let directory = try folder.bridge()
        var writer = try SoundWriter(in: directory)
        for number in UInt64(1)...5 { try writer.write(number) }
        var reader = SoundReader(directory: directory)
        let newest = SoundBlock(number: 5, capturedAt: heard(5), channels: 2, follows: false)
        #expect(try reader.next() == .block(newest))
        #expect(try reader.next() == .none)
        try writer.write(6)
        #expect(try reader.numbers() == [6])
    }

    @Test func aReaderThatWasThereFirstMissesNothing() throws {
        let directory = try folder.bridge()
        var reader = SoundReader(directory: directory)
        #expect(try reader.next() == .none)
        var writer = try SoundWriter(in: directory)
        for number in UInt64(1)...5 { try writer.write(number) }
        #expect(try reader.numbers() == [1, 2, 3, 4, 5])
    }

    @Test(arguments: [0, 1, 126, 127, 128, 129, 300] as [UInt64])
    func aReaderThatLagsLearnsWhatIsGone(behind: UInt64) throws {
        let directory = try folder.bridge()
        var writer = try SoundWriter(in: directory)
        var reader = SoundReader(directory: directory)
        try writer.write(1)
        #expect(try reader.numbers() == [1])
        for number in 0..<behind { try writer.write(number + 2) }
        var (lost, given, isFirst) = (UInt64(0), UInt64(0), true)
        loop: while true {
            switch try reader.next() {
            case .none: break loop
            case .lost(let count): lost += count
            case .block(let block):
                #expect(block.follows == (!isFirst || lost == 0))
                given += 1
                #expect(block.number == 1 + lost + given)
                isFirst = false
            }
        }
        #expect(lost + given == behind)
        #expect(behind <= 128 ? lost == 0 : lost == behind - 127)
    }

    @Test func whatIsHiddenIsNotHeardAndTakenBack() throws {
        let directory = try folder.bridge()
        var writer = try SoundWriter(in: directory)
        var reader = SoundReader(directory: directory)
        #expect(try reader.next() == .none)
        for number in UInt64(1)...6 { try writer.write(number) }
        #expect(try reader.next() != .none)
        writer.hide(before: heard(5))
        let file = try #require(soundFiles().first)
        let bytes = try FileDescriptor.open("\(folder.path)/\(file)", O_RDONLY).readBytes(1 << 20)
        for number in 1...6 {
            let samples = bytes[(4096 + number * 2048 + 64)...].prefix(1920)
            #expect(samples.allSatisfy { $0 == 0 } == (number < 5))
        }
        let next = SoundBlock(number: 5, capturedAt: heard(5), channels: 2, follows: false)
        #expect(try reader.next() == .block(next))
        #expect(try reader.numbers() == [6])
        // An earlier instant takes nothing back.
        writer.hide(before: heard(2))
        try writer.write(7, at: heard(4))
        #expect(try reader.next() == .none)
        #expect(reader.horizon.instant == heard(5))
        for number in UInt64(7)...200 { try writer.write(number) }
        #expect(try reader.numbers().count == 0)
        #expect(try reader.numbers().last == 200)
    }

    @Test func thereIsOneWriterAndItsSuccessorFindsTheHorizon() throws {
        let directory = try folder.bridge()
        do {
            var writer = try SoundWriter(in: directory)
            #expect(throws: BridgeError.soundAlreadyRunning(path: directory.path)) {
                _ = try SoundWriter(in: directory)
            }
            try writer.write(1)
            writer.hide(before: heard(1))
        }
        #expect(soundFiles() == [])
        var writer = try SoundWriter(in: directory)
        try writer.write(1)
    }

    /// What a killed writer left is retired and removed, after its successor has a generation; readers go on there.
    @Test(arguments: FrameStorage.allCases)
    func aReaderFollowsASuccessor(storage: FrameStorage) throws {
        let directory = try folder.bridge()
        var first = try SoundWriter(in: directory, storage: storage)
        var reader = SoundReader(directory: directory)
        for number in UInt64(1)...3 { try first.write(number) }
        #expect(try reader.numbers() == [3])
        for number in UInt64(4)...5 { try first.write(number) }
        let name = try #require(soundFiles().first)
        // As if it had been killed: nobody says goodbye, and its lock is free.
        unlink("\(folder.path)/sound.lock")
        var second = try SoundWriter(in: directory)
        #expect(soundFiles().count == 1 && soundFiles().first != name)
        for number in UInt64(1)...2 { try second.write(number) }
        var numbers: [UInt64] = []
        try wait(until: "it is at the second's") {
            numbers += try reader.numbers()
            return numbers.count >= 4
        }
        #expect(numbers == [4, 5, 1, 2])
    }

    @Test(arguments: ["removed", "shrunk"])
    func aFileThatIsGoneIsReplaced(how: String) throws {
        let directory = try folder.bridge()
        var writer = try SoundWriter(in: directory)
        var reader = SoundReader(directory: directory)
        try writer.write(1)
        #expect(try reader.numbers() == [1])
        writer.hide(before: heard(1))
        let path = "\(folder.path)/\(try #require(soundFiles().first))"
        if how == "removed" { unlink(path) } else { truncate(path, 4096) }
        writer.heartbeat(at: MonotonicClock.now() + .milliseconds(510))
        try writer.write(2)
        #expect(soundFiles().count == 1 && "\(folder.path)/\(soundFiles()[0])" != path)
        var outcome = SoundReader.Outcome.none
        for _ in 0..<3 where outcome == .none { outcome = (try? reader.next(first: 1)) ?? .none }
        let block = SoundBlock(number: 1, capturedAt: heard(2), channels: 2, follows: false)
        #expect(outcome == .block(block))
        #expect(reader.horizon.instant == heard(1))
    }

    @Test func neitherWriterRemovesWhatIsTheOthers() throws {
        let directory = try folder.bridge()
        var sound = try SoundWriter(in: directory)
        folder.write(".sound.0123456789abcdef", [1])
        folder.write("sound.control", [])
        var frames = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        try frames.publish(info(64, 64)) { fill(&$0, 1) }
        #expect(folder.files().contains(".sound.0123456789abcdef"))
        try sound.write(1)
        #expect(soundFiles().count == 1)
        unlink("\(folder.path)/sound.lock")
        sound = try SoundWriter(in: directory)
        #expect(!folder.files().contains(".sound.0123456789abcdef"))
        #expect(folder.files().contains("sound.control"))
        #expect(folder.framesFile() != nil)
        try frames.stop()
        #expect(soundFiles().count == 1)
    }

    /// What comes late does not even stand in the file.
    @Test func nothingIsWrittenFromBeforeTheHorizon() throws {
        let directory = try folder.bridge()
        var writer = try SoundWriter(in: directory)
        var reader = SoundReader(directory: directory)
        for number in UInt64(1)...3 { try writer.write(number) }
        writer.hide(before: heard(6))
        for number in UInt64(4)...5 { try writer.write(number) }
        #expect(try SoundInspection(directory).written == 3)
        try writer.write(4, at: heard(6))
        guard case .block(let block) = try reader.next() else { return #expect(Bool(false), "no block") }
        #expect(block.capturedAt == heard(6) && !block.follows)
    }

    /// As of a file from before a restart of the machine, whose clock began anew.
    @Test func aHorizonOfAnotherClockHidesNothing() throws {
        let directory = try folder.bridge()
        var writer = try SoundWriter(in: directory)
        var reader = SoundReader(directory: directory)
        try writer.write(1)
        #expect(try reader.numbers() == [1])
        let file = open("\(folder.path)/\(try #require(soundFiles().first))", O_WRONLY)
        defer { close(file) }
        let later = MonotonicClock.now() + .seconds(3600)
        for (offset, value) in [
            (Layout.Header.heartbeat, later.nanoseconds), (Layout.Header.horizon, later.nanoseconds - 1),
        ] {
            withUnsafeBytes(of: value) { _ = pwrite(file, $0.baseAddress, 8, off_t(offset)) }
        }
        #expect(reader.horizon.instant == nil)
        writer.hide(before: heard(2))
        #expect(reader.horizon.instant == heard(2))
    }

    /// A process that comes later must not take a mute that it cannot read for none.
    /// Invariant: muted.
    @Test func whatCannotBeReadWasLeft() throws {
        let directory = try folder.bridge()
        let lock = try AudioLock(in: directory)
        #expect(lock.kept == nil)
        try lock.keep("muted")
        #expect(lock.kept == "muted")
        let long = String(repeating: "x", count: 1025)
        #expect(throws: BridgeError.self) { try lock.keep(long) }
        #expect(lock.kept == "muted")
        unlink("\(folder.path)/sound.kept")
        mkdir("\(folder.path)/sound.kept", 0o700)
        #expect(lock.kept == "")
    }

    @Test func anInspectionTellsHowTheSoundIs() throws {
        let directory = try folder.bridge()
        let before = try SoundInspection(directory)
        #expect(before.liveness == .stopped && before.generations == [] && before.newest == nil)
        var writer = try SoundWriter(in: directory)
        for number in UInt64(1)...5 { try writer.write(number) }
        let live = try SoundInspection(directory)
        #expect(live.liveness == .live(.active) && live.problem == nil && live.horizon == nil)
        #expect(live.written == 5 && live.newest?.number == 5 && live.newest?.capturedAt == heard(5))
        #expect(live.generations == soundFiles() && live.newest?.generation == live.generation)
        #expect(live.startedAt.map { $0 <= live.heartbeatAt! } ?? false)
        #expect(directory.soundWriters().map(\.pid) == [getpid()])
        writer.hide(before: heard(6))
        let hidden = try SoundInspection(directory)
        #expect(hidden.newest == nil && hidden.written == 5 && hidden.horizon == heard(6))
        // As if it had been killed.
        unlink("\(folder.path)/sound.lock")
        #expect(try SoundInspection(directory).liveness == .dead)
        truncate("\(folder.path)/\(soundFiles()[0])", 5000)
        let damaged = try SoundInspection(directory)
        #expect(damaged.problem != nil && damaged.generation == nil && damaged.generations.count == 1)
    }

    @Test func sleepersAreWoken() throws {
        let directory = try folder.bridge()
        var writer = try SoundWriter(in: directory)
        var reader = SoundReader(directory: directory)
        #expect(try reader.next() == .none)
        try writer.write(1)
        // There is something to read: no sleep at all.
        reader.wait(until: MonotonicClock.now() + .seconds(3600))
        #expect(try reader.numbers() == [1])
        let bell = Bell()
        let count = bell.count
        bell.ring()
        reader.wait(until: MonotonicClock.now() + .seconds(3600), or: bell, while: count)
    }

    @Test func whatTheTalkOfEachSenderSaysIsRead() throws {
        let directory = try folder.bridge()
        let sender = try ProcessFolder(.sender, in: directory)
        var talks = TalkReaders(in: directory)
        #expect(talks.senders == [getpid()])
        #expect(try talks.read(of: getpid()) { _, _ in } == .none)
        do {
            var writer = try SoundWriter(talkIn: sender)
            for number in UInt64(1)...2 { try writer.write(number, channels: 1) }
            var numbers: [UInt64] = []
            while case .block = try talks.read(of: getpid(), { block, _ in numbers.append(block.number) }) {}
            #expect(numbers == [1, 2])
            let bell = Bell()
            let count = bell.count
            try writer.write(3, channels: 1)
            talks.wait(until: MonotonicClock.now() + .seconds(3600), or: bell, while: count)
            while case .block = try talks.read(of: getpid(), { block, _ in numbers.append(block.number) }) {}
            #expect(numbers == [1, 2, 3])
            bell.ring()
            talks.wait(until: MonotonicClock.now() + .seconds(3600), or: bell, while: count)
            #expect(try talks.read(of: 1) { _, _ in } == .none)
        }
        #expect(try talks.read(of: getpid()) { _, _ in } == .none)
        rmdir(sender.path)
        talks.look()
        #expect(talks.senders == [])
    }
}
