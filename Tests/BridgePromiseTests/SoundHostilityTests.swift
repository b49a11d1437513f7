import FrameBridge
import Glibc
import Posix
import TestSupport
import TestTraits
import Testing

/// Files of sound that shrink, are planted, damaged, or from another time; full disks, and writers that are stopped.
@Suite(.serialized, .waits(seconds: 30)) struct SoundHostilityTests {
    /// Invariant: untrustedFiles.
    @Test(arguments: Variant.of("aShrinkingSoundFileHurtsNobody"))
    func aShrinkingSoundFileHurtsNobody(variant: Variant) throws {
        try variant.judge { scene in
            if variant.storage == "file" { try cutOfABlockIsNoticed(in: Scene(variant)) }
            let writer = try scene.peer("speak", "rate=1000", "0")
            try scene.wait(until: "there is a block") { writer.value("written") != nil }
            let readers = try (0..<2).map { _ in try scene.peer("listen", "verbose=1", "sleep=1") }
            // The last ones cut a slot in two, and a page: the rest of that reads as zeros.
            for size in [0, 1, 4095, 4096, 4096 + 2048, 4096 + 100, 4096 + 2048 * 57 + 500, 266_239] {
                guard variant.storage == "file" else {
                    #expect(try scene.shrinkMemory("sound", of: writer, to: size) == false, "it could be shrunk")
                    continue
                }
                let file = try #require(scene.sound)
                truncate(file, off_t(size))
                try scene.wait(until: "another generation comes") { scene.sound != nil && scene.sound != file }
                let before = readers.map { $0.words("block").count }
                try scene.wait(until: "the readers go on: \(readers.map { $0.output.suffix(200) })") {
                    if let exit = readers.compactMap({ $0.status() }).first { throw Unkept("a reader ended: \(exit)") }
                    return zip(readers, before).allSatisfy { $0.words("block").count > $1 + 3 }
                }
            }
            for process in readers + [writer] { #expect(process.status() == nil, "\(process.output.suffix(200))") }
        }
    }

    /// Of the page in which a file was cut, the rest reads as zeros, without a signal: of a block that stands there, too.
    private func cutOfABlockIsNoticed(in scene: Scene) throws {
        let writer = try scene.peer("speak", "rate=5", "verbose=1", "0")
        try scene.wait(until: "there is a block") { writer.value("written") != nil }
        let reader = try scene.peer("listen", "stops=1", "sleep=1", "verbose=1")
        try scene.wait(until: "it has a block, and is stopped") { try reader.isSuspended }
        let before = try #require(reader.value("block"))
        guard before < 100 else { throw Unkept("the reader was late") }
        try scene.wait(until: "there are others") { writer.value("written") ?? 0 > before + 3 }
        try writer.suspend()
        truncate(try #require(scene.sound), off_t(4096 + (before + 1) * 2048 + 500))
        reader.kill(SIGCONT)
        try scene.wait(until: "damage is told of: \(reader.output)") {
            if let exit = reader.status() { throw Unkept("the reader ended with \(exit): \(reader.output)") }
            return !reader.words("damage").isEmpty
        }
        writer.kill(SIGCONT)
        try scene.wait(until: "the writer has begun again") { reader.status() == nil && scene.sound != nil }
    }

    @Test(arguments: Variant.of("whatIsPlantedForSoundIsRefused", storages: ["file"]))
    func whatIsPlantedForSoundIsRefused(variant: Variant) throws {
        try variant.judge { scene in
            let writer = try scene.swiftPeer("speak", "storage=file", "2", "hold")
            try scene.wait(until: "there is a block") { writer.value("written") == 2 }
            // So that it does not mend what is damaged.
            try writer.suspend()
            let sound = try #require(scene.sound)
            for (path, command) in [(sound, ["listen", "blocks=1"]), (scene.path + "/sound.lock", ["speak", "1"])] {
                for kind in ["link", "pipe", "folder", "foreign", "open"] {
                    let away = scene.path + ".away"
                    #expect(rename(path, away) == 0)
                    switch kind {
                    case "link": symlink(away, path)
                    case "pipe": mkfifo(path, 0o600)
                    case "folder": mkdir(path, 0o700)
                    default:
                        link(away, path)
                        if kind == "foreign" { chown(path, 12345, 12345) } else { chmod(path, 0o640) }
                    }
                    let peer = try scene.peer(command[0], command[1], "seconds=2")
                    let exit = try peer.wait(timeout: scene.patience)
                    #expect(exit == .code(1), "\(kind) \(path): \(peer.output)")
                    #expect(peer.output.contains("error=\(path) "), "\(kind) \(path): \(peer.output)")
                    if kind == "folder" { rmdir(path) } else { unlink(path) }
                    chown(away, geteuid(), getegid())
                    chmod(away, 0o600)
                    #expect(rename(away, path) == 0)
                }
            }
            // What is planted beside the file that is whole keeps nobody from that.
            let planted = scene.path + "/sound.0123456789abcdef"
            mkfifo(planted, 0o600)
            try scene.finish(try scene.peer("listen", "blocks=1", "seconds=2"), "a reader after all that")
            writer.kill(SIGKILL)
            try writer.wait()
            try scene.finish(try scene.peer("speak", "1", "stop"), "another writer")
            #expect(scene.files() == ["sound.lock"])
        }
    }

    @Test(arguments: Variant.of("damagedSoundHurtsNobody", storages: ["file"]))
    func damagedSoundHurtsNobody(variant: Variant) throws {
        try variant.judge { scene in
            guard variant.isCorrect else {
                let writer = try untouchedSound(in: scene)
                try scene.finish(try scene.peer("mutate-sound", "count=20000", "seed=1"), "the reader")
                return withExtendedLifetime(writer) {}
            }
            let scenes = try (0..<2).map { _ in try Scene(variant) }
            let writers = try scenes.map { try untouchedSound(in: $0) }
            let readers = try [
                scenes[0].swiftPeer("mutate-sound", "count=\(Scene.amount(50_000))", "seed=1"),
                Subprocess(
                    [TestPrograms.bridgePeer("address")]
                        + scenes[1].arguments("mutate-sound", ["count=\(Scene.amount(20_000))", "seed=3"]),
                    environment: Scene.calm
                ),
            ]
            for reader in readers {
                let exit = try reader.wait()
                #expect(exit == .code(0), "\(reader.output) \(reader.errorOutput.prefix(2000))")
                #expect(reader.value("refused") ?? 0 > 5_000)
                #expect(reader.value("shown") ?? 0 > 5_000)
                #expect(1...1 << 48 ~= reader.value("gone") ?? 0)
            }
            withExtendedLifetime((scenes, writers)) {}
        }
    }

    /// Sound whose writer is stopped, so that it does not replace it when it is damaged.
    private func untouchedSound(in scene: Scene) throws -> Subprocess {
        let writer = try scene.swiftPeer("speak", "storage=file", "200", "hold")
        try scene.wait(until: "there is sound") { writer.value("written") == 200 }
        try writer.suspend()
        return writer
    }

    @Test(arguments: [Variant(name: "correct", storage: "file")])
    func aFullFileSystemIsNamedForSound(variant: Variant) throws {
        try variant.judge { scene in
            _ = try scene.directory()
            let words = scene.arguments("speak", ["1"]).joined(separator: " ")
            let writer = try Subprocess(
                [
                    "unshare", "-m", "sh", "-c",
                    "mount -t tmpfs -o size=128k,mode=700 none \(scene.path) && exec \(scene.program) \(words)",
                ],
                environment: Scene.calm
            )
            #expect(try writer.wait(timeout: scene.patience) == .code(1))
            #expect(writer.output.contains("error=no space for 266240 bytes"), "\(writer.output)")
        }
    }

    /// There is room for one file only: that of a dead writer is room for its successor.
    @Test(arguments: Variant.of("theRoomOfDeadSoundIsTaken", storages: ["file"]))
    func theRoomOfDeadSoundIsTaken(variant: Variant) throws {
        try variant.judge { scene in
            _ = try scene.directory()
            let speak = ([scene.program] + scene.arguments("speak", ["1", "hold"])).joined(separator: " ")
            let script = """
                set -e
                mount -t tmpfs -o size=400k,mode=700 none \(scene.path)
                for life in 1 2 3; do
                    \(speak) > \(scene.path)/../log.$life & writer=$!
                    until grep -qs written \(scene.path)/../log.$life; do kill -0 $writer; sleep 0.01; done
                    kill -KILL $writer
                    wait $writer || true
                done
                cat \(scene.path)/../log.*
                """
            // What it starts ends with it.
            let namespace = ["unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc"]
            let process = try Subprocess(namespace + ["bash", "-c", script], environment: Scene.calm)
            let exit = try process.wait(timeout: scene.patience)
            defer { process.kill(SIGKILL) }
            guard exit == .code(0) else { throw Unkept("\(exit): \(process.output) \(process.errorOutput)") }
            #expect(process.words("written").count == 3)
        }
    }

    @Test(arguments: [Variant(name: "correct", storage: "file")])
    func anotherVersionOfSoundIsNamed(variant: Variant) throws {
        try variant.judge { scene in
            let writer = try untouchedSound(in: scene)
            let file = try FileDescriptor.open(try #require(scene.sound), O_RDWR)
            var header = try file.readBytes(64)
            header[12] = 2
            withUnsafeBytes(of: crc32c(header[..<60])) { header.replaceSubrange(60..., with: $0) }
            #expect(pwrite(file.raw, header, 64, 0) == 64)
            let reader = try scene.peer("listen", "blocks=1", "seconds=2")
            #expect(try reader.wait(timeout: scene.patience) == .code(1))
            #expect(reader.output.contains("has layout 2, and this program reads up to 1"))
            withExtendedLifetime(writer) {}
        }
    }

    /// A writer that is stopped keeps nobody waiting, and is heard again when it goes on.
    @Test(arguments: ["file", "memfd"].map { Variant(name: "correct", storage: $0) })
    func aStoppedSoundWriterHoldsUpNobody(variant: Variant) throws {
        try variant.judge { scene in
            let writer = try scene.peer("speak", "rate=100", "verbose=1", "0")
            try scene.wait(until: "there is a block") { writer.value("written") != nil }
            let reader = try scene.peer("listen", "sleep=1", "verbose=1")
            try scene.wait(until: "it reads") { reader.value("block") != nil }
            try writer.suspend()
            // Who has its memory reads on; who has not yet asks in vain, and comes to an end all the same.
            let late = try scene.peer("listen", "seconds=1", "blocks=1", "sleep=1")
            try scene.finish(late, "a reader meanwhile")
            #expect(late.value("blocks") == (variant.storage == "file" ? 1 : 0))
            let before = reader.words("block").count
            writer.kill(SIGCONT)
            try scene.wait(until: "it is heard again") { reader.words("block").count > before + 10 }
        }
    }

    @Test(arguments: [
        Variant(name: "thread", storage: "file"), Variant(name: "sound-head-not-acquired", storage: "file"),
    ])
    func theThreadSanitizerIsContentWithSound(variant: Variant) throws {
        let scene = try Scene(variant)
        let pair = try scene.peer("pair-sound", "blocks=2000")
        let exit = try pair.wait()
        let hasRace = pair.errorOutput.contains("ThreadSanitizer: data race")
        if variant.name == "thread" {
            #expect(exit == .code(0) && !hasRace, "\(pair.errorOutput.prefix(2000))")
        } else {
            #expect(hasRace)
        }
    }
}
