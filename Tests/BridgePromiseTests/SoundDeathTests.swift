import FrameBridge
import Glibc
import Posix
import TestSupport
import TestTraits
import Testing

/// Either side of the sound may be killed, or stopped, at any instruction.
@Suite(.serialized, .waits(seconds: 140)) struct SoundDeathTests {
    /// Invariant: survives.
    @Test(arguments: Variant.of("whereverASoundWriterDiesNothingIsLost"))
    func whereverASoundWriterDiesNothingIsLost(variant: Variant) throws {
        try variant.judge { scene in
            _ = try scene.directory()
            let witness = try scene.peer("listen", "verbose=1", "sleep=1", "hides=1")
            try scene.wait(until: "it reads") { witness.value("ready") != nil }
            // A generation, another one, what was captured hidden, goodbye.
            let life = ["verbose=1", "2", "again", "1", "hide", "1", "stop"]
            var point = 0
            while true {
                point += 1
                let writer = try Subprocess(
                    [scene.program] + scene.arguments("speak", life),
                    environment: Scene.calm.merging(["ORIEL_CRASH_POINT": "\(point)"]) { $1 }
                )
                let exit = try writer.wait(timeout: scene.patience)
                if exit == .code(0) { break }
                do {
                    guard exit == .signal(SIGKILL) else { throw Unkept("it ended with \(exit)") }
                    if variant.storage == "file" { try Self.checkRecovery(of: writer, in: scene.directory()) }
                    try Self.succeed(in: scene, witness)
                } catch {
                    throw Unkept("killed at \(point): \(error)")
                }
            }
            #expect(point > 60, "there are more places to die at")
            #expect(scene.sound == nil)
        }
    }

    /// What a new reader finds after a death: the last block that was told of, or a later one, unless that is hidden, or of a
    /// generation that was removed.
    private static func checkRecovery(of writer: Subprocess, in directory: BridgeDirectory) throws {
        let steps = writer.words("written").count
        guard steps > 0, writer.words("hides").isEmpty, writer.words("again").isEmpty || steps > 2 else { return }
        var heir = SoundReader(directory: directory)
        guard case .block = try heir.read({ _, _ in }) else {
            // It may just have removed its file, or begun another.
            guard steps == 2 else { throw Unkept("nothing is left after \(steps) blocks") }
            return
        }
    }

    /// Another writer begins, the reader that was there follows, and nothing of the dead one is left.
    private static func succeed(in scene: Scene, _ witness: Subprocess) throws {
        let before = witness.words("block").count
        let successor = try scene.peer("speak", "verbose=1", "3", "hold")
        try scene.wait(until: "the reader follows: \(witness.output.suffix(200))") {
            if let exit = witness.status() {
                throw Unkept("the reader ended with \(exit): \(witness.output.suffix(200))")
            }
            return witness.words("block").count >= before + 3 && witness.words("block").last == "3"
        }
        let names = scene.files().filter { !["sound.lock", "senders"].contains($0) }
        guard names.count == 1, names[0].hasPrefix("sound.") else { throw Unkept("there is \(scene.files())") }
        successor.kill(SIGKILL)
        try successor.wait()
    }

    @Test(arguments: Variant.of("aListenerMayDieOrSleep"))
    func aListenerMayDieOrSleep(variant: Variant) throws {
        try variant.judge { scene in
            var writer = try scene.peer("speak", "rate=500", "verbose=1", "0")
            var readers: [Subprocess] = []
            for _ in 0..<60 {
                readers.append(try scene.peer("listen", "sleep=1"))
                readers.randomElement()!.kill([SIGKILL, SIGSTOP, SIGCONT, SIGTERM].randomElement()!)
                let before = writer.value("written") ?? 0
                try scene.wait(until: "the writer goes on") { writer.value("written") ?? 0 > before }
                if readers.count > 4 { readers.removeFirst() }
            }
            // Another writer may come while a reader does not get to run.
            let sleeper = try scene.peer("listen", "sleep=1", "verbose=1")
            try scene.wait(until: "it reads") { sleeper.value("block") != nil }
            try sleeper.suspend()
            writer.kill(SIGKILL)
            try writer.wait()
            writer = try scene.peer("speak", "rate=500", "verbose=1", "0")
            try scene.wait(until: "another writer writes") { writer.value("written") ?? 0 > 300 }
            try scene.finish(try scene.peer("listen", "blocks=10", "sleep=1"), "a reader after all that")
            sleeper.kill(SIGCONT)
            let before = sleeper.words("block").count
            try scene.wait(until: "it goes on") { sleeper.words("block").count > before + 100 }
        }
    }

    /// Signals at random to a writer at full speed, with readers who check every block.
    @Test(arguments: ["file", "memfd"])
    func aStormOfSignalsTearsNoBlock(storage: String) throws {
        let scene = try Scene(Variant(name: "correct", storage: storage))
        var writer = try scene.swiftPeer("speak", "storage=\(storage)", "0")
        try scene.wait(until: "there is a block") { writer.value("written") != nil }
        let readers = try ["sleep=1", "lag=1"].map { try scene.swiftPeer("listen", $0) }
        for _ in 0..<300 {
            for process in readers + [writer] { process.kill([SIGSTOP, SIGCONT].randomElement()!) }
            if Int.random(in: 0..<20) == 0 {
                writer.kill(SIGKILL)
                try writer.wait()
                writer = try scene.swiftPeer("speak", "storage=\(storage)", "0")
            }
            MonotonicClock.sleep(for: .microseconds(Int.random(in: 0...5000)))
        }
        for process in readers + [writer] { process.kill(SIGCONT) }
        for reader in readers { #expect(reader.status() == nil, "\(reader.output.suffix(200))") }
    }

    @Test(arguments: ["file", "memfd"])
    func hundredsOfSoundWritersLeaveNothing(storage: String) throws {
        let scene = try Scene(Variant(name: "correct", storage: storage))
        _ = try scene.directory()
        let reader = try scene.peer("listen", "verbose=1", "sleep=1", "seconds=300")
        try scene.wait(until: "it reads") { reader.value("ready") != nil }
        for count in 1...300 {
            let writer = try scene.peer("speak", "2", count.isMultiple(of: 3) ? "stop" : "hold")
            try scene.wait(until: "writer \(count) writes") { writer.value("written") != nil }
            writer.kill(SIGKILL)
            try writer.wait()
        }
        let last = try scene.peer("speak", "7", "hold")
        try scene.wait(until: "the reader hears the last one: \(reader.output.suffix(300))") {
            reader.words("block").last == "7"
        }
        #expect(reader.words("damage") == [])
        #expect(scene.files().filter { $0 != "sound.lock" }.count == 1, "\(scene.files())")
        last.kill(SIGKILL)
    }

    @Test(arguments: Variant.of("thereIsOneSoundWriter", storages: ["file"]))
    func thereIsOneSoundWriter(variant: Variant) throws {
        try variant.judge { scene in
            let writer = try scene.peer("speak", "1", "hold")
            try scene.wait(until: "there is a block") { writer.value("written") != nil }
            let second = try scene.peer("speak", "1")
            #expect(try second.wait(timeout: scene.patience) == .code(1))
            #expect(second.output.contains("already runs"))
            #expect(writer.status() == nil)
            // A capture process has nothing to do with it.
            try scene.finish(try scene.peer("write", "64x64*1", "stop"), "who writes frames")
            try scene.finish(try scene.peer("listen", "blocks=1"), "who listens")
        }
    }
}
