import FrameBridge
import Glibc
import Posix
import TestSupport
import TestTraits
import Testing

/// Either side may be killed, or stopped, at any instruction.
@Suite(.serialized, .waits(seconds: 90)) struct DeathTests {
    /// Making a broadcast, publishing in steady state, two generations, another size in the same one, states, goodbye.
    private static let life = ["64x64*4", "640x480*2", "paused", "128x64*1", "active", "128x64*1", "stop"]

    /// Invariant: survives.
    @Test(arguments: Variant.of("whereverTheWriterDiesNothingIsLost"))
    func whereverTheWriterDiesNothingIsLost(variant: Variant) throws {
        try variant.judge { scene in
            let directory = try scene.directory()
            var witness = try FrameReader(directory: directory)
            var point = 0
            while true {
                point += 1
                let writer = try Subprocess(
                    [scene.program] + scene.arguments("write", ["verbose=1"] + Self.life),
                    environment: Scene.calm.merging(["ORIEL_CRASH_POINT": "\(point)"]) { $1 }
                )
                let exit = try writer.wait(timeout: scene.patience)
                if exit == .code(0) { break }
                do {
                    guard exit == .signal(SIGKILL) else { throw Unkept("it ended with \(exit)") }
                    try Self.checkRecovery(of: writer, in: directory, storage: variant.storage)
                    _ = try? witness.read { _ in }
                    // A state that was being said when it died may be either.
                    let wasPaused = writer.words("says").last == "paused"
                    try Self.succeed(in: scene, witness: &witness, isPaused: wasPaused)
                } catch {
                    throw Unkept("killed at \(point): \(error)")
                }
            }
            #expect(point > 100, "there are more places to die at")
        }
    }

    /// What a new reader finds after a death: the last frame that was told of, or a later one.
    private static func checkRecovery(
        of writer: Subprocess,
        in directory: BridgeDirectory,
        storage: String
    ) throws {
        var heir = try FrameReader(directory: directory)
        let liveness = try heir.liveness()
        guard let published = writer.value("published"), try directory.status()?.state != .stopped else { return }
        guard liveness == .dead else { throw Unkept("it is \(liveness)") }
        // Sealed memory goes with its last user.
        guard storage == "file" else { return }
        var isWhole = false
        let outcome = try heir.read { frame in
            let byte = UInt8(truncatingIfNeeded: frame.info.number)
            isWhole = frame.luma.byteOffsets.allSatisfy {
                frame.luma.unsafeLoad(fromByteOffset: $0, as: UInt8.self) == byte
            }
        }
        guard case .frame(let info) = outcome, info.number >= published, isWhole else {
            throw Unkept("\(outcome) after frame \(published)")
        }
    }

    /// Another writer begins, the reader that has seen it all follows, and nothing of the dead one is left.
    private static func succeed(in scene: Scene, witness: inout FrameReader, isPaused: Bool) throws {
        let successor = try scene.peer("write", "64x64*1", "active", "hold")
        try scene.wait(until: "the successor writes") { successor.words("says").contains("active") }
        if isPaused, successor.words("began") != ["paused"] { throw Unkept("its successor is not paused") }
        var outcome = FrameReader.Outcome.noFrame
        try scene.wait(until: "the successor gets to run, to hand out its memory") {
            do throws(BridgeError) { outcome = try witness.read { _ in } } catch {
                if case .noAnswer = error { return false }
                throw error
            }
            return true
        }
        let generation = try scene.directory().status()?.generation
        guard case .frame(let info) = outcome, info.number == 1, info.generation == generation else {
            throw Unkept("the reader did not follow: \(outcome)")
        }
        let (frames, others) = (
            scene.files().filter { $0.hasPrefix("frames.") }, scene.files().filter { !$0.hasPrefix("frames.") }
        )
        guard frames.count == 1, others == [".status", "control", "reader.lock", "status", "writer.lock"] else {
            throw Unkept("there is \(scene.files())")
        }
        successor.kill(SIGKILL)
        try successor.wait()
    }

    /// Invariant: survives.
    @Test(arguments: Variant.of("aReaderMayDieOrSleep"))
    func aReaderMayDieOrSleep(variant: Variant) throws {
        try variant.judge { scene in
            var writer = try scene.peer("write", "rate=500", "verbose=1", "64x64*0")
            var readers: [Subprocess] = []
            for round in 0..<60 {
                readers.append(try scene.peer("read", round.isMultiple(of: 2) ? "sleep=1" : "again=1"))
                let victim = readers.randomElement()!
                victim.kill([SIGKILL, SIGSTOP, SIGCONT, SIGTERM].randomElement()!)
                let before = writer.value("published") ?? 0
                try scene.wait(until: "the writer goes on") { writer.value("published") ?? 0 > before }
                if readers.count > 4 { readers.removeFirst() }
            }
            // Another writer may come while a reader does not get to run.
            writer.kill(SIGKILL)
            try writer.wait()
            let sleeper = try scene.peer("read", "sleep=1")
            try scene.wait(until: "it reads") { sleeper.value("ready") != nil }
            try sleeper.suspend()
            writer = try scene.peer("write", "rate=500", "verbose=1", "64x64*0")
            try scene.wait(until: "another writer writes") { writer.value("published") ?? 0 > 3 }
            try scene.finish(try scene.peer("read", "frames=10", "sleep=1"), "a reader after all that")
        }
    }

    @Test(arguments: Variant.of("aStallIsNoDeath"))
    func aStallIsNoDeath(variant: Variant) throws {
        try variant.judge { scene in
            let writer = try scene.peer("write", "64x64*1", "hold")
            try scene.wait(until: "there is a frame") { writer.value("published") != nil }
            let watch = try scene.peer("watch")
            func expect(_ states: String...) throws {
                try scene.wait(until: "it is \(states)") { watch.words("state") == states }
            }
            try expect("active")
            try writer.suspend()
            try expect("active", "stalled")
            // Sealed memory has to be asked for.
            if variant.storage == "file" {
                try scene.finish(try scene.swiftPeer("read", "frames=1"), "a reader meanwhile")
            }
            writer.kill(SIGCONT)
            try expect("active", "stalled", "active")
            writer.kill(SIGKILL)
            try expect("active", "stalled", "active", "dead")
            let other = try scene.peer("write", "64x64*1", "stop")
            try scene.finish(other, "another writer")
            try scene.wait(until: "it is stopped") { watch.words("state").last == "stopped" }
        }
    }

    /// Signals at random to a writer at full speed, with readers who check every frame.
    @Test(arguments: ["file", "memfd"])
    func aStormOfSignalsTearsNothing(storage: String) throws {
        let scene = try Scene(Variant(name: "correct", storage: storage))
        var writer = try scene.swiftPeer("write", "storage=\(storage)", "256x256*0")
        try scene.wait(until: "there is a frame") { writer.value("published") != nil }
        let readers = try ["mapped", "copied"].map { try scene.swiftPeer("read", "access=\($0)") }
        for _ in 0..<300 {
            for process in readers + [writer] { process.kill([SIGSTOP, SIGCONT].randomElement()!) }
            if Int.random(in: 0..<20) == 0 {
                writer.kill(SIGKILL)
                try writer.wait()
                writer = try scene.swiftPeer("write", "storage=\(storage)", "256x256*0")
            }
            MonotonicClock.sleep(for: .microseconds(Int.random(in: 0...5000)))
        }
        for process in readers + [writer] { process.kill(SIGCONT) }
        for reader in readers { #expect(reader.status() == nil, "\(reader.output.suffix(200))") }
    }

    @Test(arguments: Variant.of("aThousandWritersLeaveNothing"))
    func aThousandWritersLeaveNothing(variant: Variant) throws {
        try variant.judge { scene in
            _ = try scene.directory()
            let reader = try scene.peer("read", "verbose=1", "sleep=1", "seconds=300")
            try scene.wait(until: "it reads") { reader.value("ready") != nil }
            let lives = variant.storage == "file" ? 1000 : Scene.amount(200)
            for count in 1...(variant.isCorrect ? lives : 20) {
                let end = count.isMultiple(of: 3) ? ["stop"] : []
                let writer = try Subprocess([scene.program] + scene.arguments("write", ["64x64*2"] + end))
                try scene.finish(writer, "writer \(count)")
            }
            let last = try scene.peer("write", "128x64*1", "hold")
            try scene.wait(until: "the reader sees the last one") {
                if let exit = reader.status() {
                    throw Unkept("the reader ended with \(exit): \(reader.output.suffix(200))")
                }
                return reader.words("size").last == "128x64"
            }
            #expect(reader.words("damage") == [])
            // The writer makes the spare of its status anew each time that it has used it.
            try scene.wait(until: "there are the files of one writer: \(scene.files())") { scene.files().count == 6 }
            last.kill(SIGKILL)
        }
    }

    /// Invariant: oneWriter.
    @Test(arguments: Variant.of("thereIsOneWriter"))
    func thereIsOneWriter(variant: Variant) throws {
        try variant.judge { scene in
            let writer = try scene.peer("write", "64x64*1", "hold")
            try scene.wait(until: "there is a frame") { writer.value("published") != nil }
            let second = try scene.peer("write", "64x64*1")
            #expect(try second.wait(timeout: scene.patience) == .code(1))
            #expect(second.output.contains("already runs"))
            #expect(writer.status() == nil)
        }
    }
}
