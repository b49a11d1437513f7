import FrameBridge
import Glibc
import Posix
import TestSupport
import TestTraits
import Testing
import Time

/// What readers of sound get is whole, in order, and all that was not hidden, or they know what they have lost.
@Suite(.serialized, .waits(seconds: 80)) struct SoundPromiseTests {
    @Test(arguments: Variant.of("noTornBlockIsTaken"))
    func noTornBlockIsTaken(variant: Variant) throws {
        try variant.judge { scene in
            let writer =
                try variant.isCorrect
                ? scene.swiftPeer("speak", "storage=\(variant.storage)", "0")
                : scene.peer("speak", "0")
            try scene.wait(until: "there is a block") { writer.value("written") != nil }
            // At full speed the writer laps them all the time.
            let count = variant.isCorrect ? Scene.amount(200_000) : 200_000
            let readers = try (0..<2).map { _ in
                try variant.isCorrect
                    ? scene.swiftPeer("listen", "blocks=\(count)")
                    : scene.peer("listen", "blocks=\(count)")
            }
            for reader in readers {
                try scene.finish(reader, "a reader")
                #expect(reader.value("lost") ?? 0 > 0, "the writer was never in the way")
            }
            #expect(writer.status() == nil)
        }
    }

    /// Blocks that were read and blocks that were lost are all that there were, however slow the reader is.
    /// Invariant: whole.
    @Test(arguments: Variant.of("aListenerLearnsWhatItLost"))
    func aListenerLearnsWhatItLost(variant: Variant) throws {
        try variant.judge { scene in
            _ = try scene.directory()
            let count = 20_000
            let readers = try ["lag=0", "lag=1", "lag=20"].map {
                try scene.peer("listen", "total=\(count)", "sleep=1", $0)
            }
            for reader in readers { try scene.wait(until: "it reads") { reader.value("ready") != nil } }
            let writer = try scene.peer("speak", "rate=5000", "\(count)", "hold")
            for reader in readers {
                try scene.finish(reader, "a reader")
                #expect(reader.value("blocks")! + reader.value("lost")! == count)
            }
            #expect(readers[2].value("lost") ?? 0 > 0, "nothing was lost")
            #expect(writer.status() == nil)
        }
    }

    /// Who sleeps is woken by each block, and loses none.
    @Test(arguments: Variant.of("everyListenerIsWoken"))
    func everyListenerIsWoken(variant: Variant) throws {
        try variant.judge { scene in
            _ = try scene.directory()
            // Each sleeps for a second at the most if nobody wakes it.
            let readers = try (0..<32).map { _ in try scene.peer("listen", "total=100", "sleep=1", "seconds=60") }
            for reader in readers { try scene.wait(until: "it reads") { reader.value("ready") != nil } }
            let writer = try scene.peer("speak", "rate=20", "100", "hold")
            for reader in readers {
                try scene.finish(reader, "a reader")
                #expect(reader.value("blocks") == 100 && reader.value("lost") == 0, "\(reader.output)")
            }
            #expect(writer.status() == nil)
        }
    }

    /// From the moment at which a writer begins to hide sound, wherever it dies.
    @Test(arguments: Variant.of("nothingHiddenIsHeard", storages: ["file"]))
    func nothingHiddenIsHeard(variant: Variant) throws {
        try variant.judge { scene in
            _ = try scene.directory()
            var (point, wasHidden) = (0, false)
            while true {
                point += 1
                // The more is left by others, the more places there are to die at before anything is heard.
                for name in scene.files() where name != "sound.lock" { unlink("\(scene.path)/\(name)") }
                let witness = try scene.peer("listen", "verbose=1", "hides=1", "stops=1", "idle=200")
                try scene.wait(until: "it is stopped") { try witness.isSuspended }
                let writer = try Subprocess(
                    [scene.program] + scene.arguments("speak", ["verbose=1", "3", "hide", "2", "hold"]),
                    environment: Scene.calm.merging(["ORIEL_CRASH_POINT": "\(point)"]) { $1 }
                )
                try scene.wait(until: "it is over") { writer.status() != nil || writer.value("written") == 5 }
                let horizon = writer.words("hides").last.flatMap { UInt64($0) }
                // What was hidden while it did not get to run.
                witness.kill(SIGCONT)
                try scene.finish(witness, "the reader")
                let heard = witness.words("heard").compactMap { UInt64($0) }
                if let horizon {
                    wasHidden = true
                    guard heard.allSatisfy({ $0 >= horizon }) else {
                        throw Unkept("killed at \(point): heard \(heard), before \(horizon)")
                    }
                    try checkSamples(in: scene, after: horizon)
                }
                let isOver = writer.status() == nil
                if isOver, heard.count != 2 { throw Unkept("\(heard.count) of two blocks were heard") }
                writer.kill(SIGKILL)
                try writer.wait()
                if isOver { break }
            }
            #expect(wasHidden && 50..<1000 ~= point)
        }
    }

    /// Of blocks that were captured before, no sample is left.
    private func checkSamples(in scene: Scene, after horizon: UInt64) throws {
        guard let path = scene.sound else { return }
        let bytes = try FileDescriptor.open(path, O_RDONLY).readBytes(1 << 20)
        for slot in 0..<128 {
            let place = 4096 + slot * 2048
            let capturedAt = bytes.withUnsafeBytes { $0.load(fromByteOffset: place + 16, as: UInt64.self) }
            let isSilent = bytes[(place + 64)..<(place + 2048)].allSatisfy { $0 == 0 }
            guard capturedAt >= horizon || isSilent else { throw Unkept("slot \(slot) still sounds") }
        }
    }

    /// Peers of several senders speak; one sender is killed, one lies.
    @Test(arguments: Variant.of("everySenderIsHeard", storages: ["file"]))
    func everySenderIsHeard(variant: Variant) throws {
        try variant.judge { scene in
            _ = try scene.directory()
            let listener = try scene.peer("overhear")
            try scene.wait(until: "it reads") { listener.value("ready") != nil }
            let senders = try (0..<3).map { _ in try scene.peer("speak", "talk=1", "rate=100", "0") }
            for sender in senders {
                try scene.wait(until: "it is heard") { listener.words("heard").contains("\(sender.pid)") }
            }
            let folder = "\(scene.path)/senders/\(senders[1].pid)"
            let names = try FileDescriptor.open(folder, O_RDONLY | O_DIRECTORY).entries()
            let file = try #require(names.first { $0.hasPrefix("talk.") })
            // It must not find that first, and remove the file.
            try senders[1].suspend()
            truncate("\(folder)/\(file)", 0)
            try scene.wait(until: "damage is told of") { listener.words("damage").contains("\(senders[1].pid)") }
            senders[0].kill(SIGKILL)
            try senders[0].wait()
            try scene.wait(until: "its end is noticed") { listener.words("ended").contains("\(senders[0].pid)") }
            let before = listener.value("talk\(senders[2].pid)") ?? 0
            try scene.wait(until: "the third one is heard on") {
                listener.value("talk\(senders[2].pid)") ?? 0 > before + 50
            }
            #expect(listener.status() == nil)
        }
    }
}
