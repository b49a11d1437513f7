import Glibc
import Posix
import TestSupport
import Testing
import Time

@testable import FrameBridge

/// A writer of frames and of a second ring in the same folder.
private struct PairWriter: ~Copyable {
    var folder: BroadcastFolder
    var frames: FrameRing?
    var counter: CountRing?

    init(_ directory: BridgeDirectory) throws(BridgeError) {
        folder = try BroadcastFolder(directory, rings: [FrameRing.name, CountRing.name], source: "")
    }

    /// Begins a generation whose first picture is of one byte and whose count is 1.
    ///
    /// - Parameter failure: is thrown when all is made.
    /// - Returns: the generation.
    mutating func begin(_ byte: UInt8, failure: BridgeError? = nil) throws(BridgeError) -> UInt64 {
        (frames, counter) = try folder.beginGeneration { next throws(BridgeError) in
            let plan = SlotPlan(width: 64, height: 64)!
            let frames = try FrameRing(in: &next, storage: .file, plan: plan, source: "", framesPerSecond: 30)
            var picture = info(64, 64)
            picture.number = 1
            guard frames.write(picture, plan, { fill(&$0, byte) }) else {
                throw .damaged(path: next.directory.path, problem: "shrunk")
            }
            let counter = try CountRing(in: &next)
            counter.increment()
            if let failure { throw failure }
            return (frames, counter)
        }
        return folder.generation
    }
}

/// A second ring beside the frames: one lock, one status and one life for both, and an order of stores for each.
@Suite struct SecondRingTests {
    private let folder = ScratchFolder()
    private let names = [FrameRing.name, CountRing.name]

    private func views(_ generation: UInt64, in directory: BridgeDirectory) throws -> [RingView] {
        try names.map { try #require(try RingView($0, generation, in: directory)) }
    }

    private func files(_ generation: UInt64) -> Set<String> { Set(names.map { RingFile.name(of: $0, generation) }) }

    private func ringFiles() -> Set<String> {
        Set(folder.files().filter { file in names.contains { RingFile.isFile(file, of: $0) } })
    }

    private func shownByte(_ reader: inout FrameReader) throws -> UInt8? {
        var byte: UInt8?
        guard case .frame = try reader.read({ byte = uniformByte($0) }) else { return nil }
        return byte
    }

    @Test func bothRingsLiveAndEndTogether() throws {
        let directory = try folder.bridge()
        var writer = try PairWriter(directory)
        var reader = try FrameReader(directory: directory)
        let first = try writer.begin(5)
        #expect(ringFiles() == files(first))
        #expect(try shownByte(&reader) == 5)

        let views = try views(first, in: directory)
        try writer.folder.setState(.active)
        writer.folder.setHorizon(Instant(nanoseconds: 7))
        _ = writer.folder.heartbeat(at: MonotonicClock.now())
        for view in views {
            #expect(view.state == .active)
            #expect(view.horizon == 7)
            #expect(view.heartbeat > 7)
        }

        let second = try writer.begin(6)
        #expect(ringFiles() == files(second))
        for view in views { #expect(view.state == .retired) }
        for view in try self.views(second, in: directory) {
            #expect(view.state == .active)
            #expect(view.horizon == 7)
        }
        #expect(try shownByte(&reader) == 6)
        try writer.folder.stop(reason: "")
        #expect(ringFiles() == [])
        try wait(until: "the lock is free") { try !directory.hasWriter() }
        #expect(try BridgeInspection(directory).liveness == .stopped)
    }

    @Test func eachRingHasItsOwnOrderAndWakesItsOwnReaders() throws {
        let directory = try folder.bridge()
        var writer = try PairWriter(directory)
        let generation = try writer.begin(5)
        let views = try views(generation, in: directory)
        let before = views.map(\.wakeWord)
        for _ in 0..<3 { writer.counter?.increment() }
        #expect(views[1].count == 4)
        #expect(views[0].wakeWord == before[0])
        #expect(views[1].wakeWord == before[1] &+ 3)
    }

    @Test func noFileOfTheFramesNamesTheOtherRing() throws {
        let directory = try folder.bridge()
        var writer = try PairWriter(directory)
        let generation = try writer.begin(5)
        let page = try FileDescriptor.open(#require(folder.framesFile()), O_RDONLY).readBytes(Layout.page)
        let status = try #require(try directory.readText(BridgeStatus.fileName, limit: 1024))
        for text in [String(decoding: page, as: UTF8.self), status] { #expect(!text.contains(CountRing.name)) }
        #expect(try BridgeInspection(directory).generations == [RingFile.name(of: FrameRing.name, generation)])
        try writer.folder.stop(reason: "")
    }

    @Test(arguments: 0...Counting.stepCount)
    func aSuccessorOfADeadWriterRetiresAndRemovesBothRings(steps: Int) throws {
        let directory = try folder.bridge()
        var dead: UInt64 = 0
        do {
            var writer = try PairWriter(directory)
            dead = try writer.begin(5)
            writer.folder.setHorizon(Instant(nanoseconds: 7))
            writer.counter?.increment(steps: steps)
        }
        #expect(ringFiles() == files(dead))
        let views = try views(dead, in: directory)
        #expect(views[1].count == (steps == 0 ? 1 : 2))
        folder.write("count", [1])

        var successor = try PairWriter(directory)
        #expect(ringFiles() == [])
        #expect(folder.files().contains("count"), "that is no file of a ring")
        for view in views { #expect(view.state == .retired) }
        let next = try successor.begin(6)
        for view in try self.views(next, in: directory) { #expect(view.horizon == 7) }
        try successor.folder.stop(reason: "")
    }

    @Test func aGenerationThatCannotBeMadeLeavesTheOneBefore() throws {
        let directory = try folder.bridge()
        var writer = try PairWriter(directory)
        let generation = try writer.begin(5)
        let failure = BridgeError.noSpace(path: directory.path, bytes: 1)
        #expect(throws: failure) { _ = try writer.begin(6, failure: failure) }
        #expect(ringFiles() == files(generation))
        #expect(try directory.status()?.generation == generation)
        for view in try views(generation, in: directory) { #expect(view.state == .starting) }
        try writer.folder.stop(reason: "")
    }

    @Test(arguments: [FrameRing.name, CountRing.name])
    func theLossOfOneFileEndsTheGenerationOfBoth(lost: String) throws {
        let directory = try folder.bridge()
        var writer = try PairWriter(directory)
        let first = try writer.begin(5)
        let views = try views(first, in: directory)
        directory.remove(RingFile.name(of: lost, first))
        let later = MonotonicClock.now() + .milliseconds(510)
        let answers = [writer.folder.heartbeat(at: later), writer.folder.heartbeat(at: later)]
        #expect(answers == [false, true])
        for view in views { #expect(view.state == .retired) }
        let second = try writer.begin(6)
        #expect(ringFiles() == files(second))
        try writer.folder.stop(reason: "")
    }
}
