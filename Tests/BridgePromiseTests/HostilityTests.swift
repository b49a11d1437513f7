import FrameBridge
import Glibc
import Posix
import TestSupport
import TestTraits
import Testing

/// Files that shrink, are planted, damaged, or from another time; full disks, and clocks that disagree.
@Suite(.serialized, .waits(seconds: 40)) struct HostilityTests {
    /// Invariant: untrustedFiles.
    @Test(arguments: Variant.of("aShrinkingFileHurtsNobody"))
    func aShrinkingFileHurtsNobody(variant: Variant) throws {
        try variant.judge { scene in
            let writer = try scene.peer("write", "rate=300", "256x256*0")
            try scene.wait(until: "there is a frame") { writer.value("published") != nil }
            let readers = try ["mapped", "copied"].map { try scene.peer("read", "verbose=1", "access=\($0)") }
            for size in [0, 1, 4095, 4096, 8192 + 100, 120_000] {
                guard variant.storage == "file" else {
                    #expect(try scene.shrinkMemory("frames", of: writer, to: size) == false, "it could be shrunk")
                    continue
                }
                let file = try #require(scene.frames)
                truncate(file, off_t(size))
                // Who reads is told, or sees the next generation already.
                try scene.wait(until: "another generation comes") { scene.frames != nil && scene.frames != file }
                let before = readers.map { $0.words("frame").count }
                try scene.wait(until: "the readers go on") {
                    zip(readers, before).allSatisfy { $0.words("frame").count > $1 + 3 }
                }
            }
            for process in readers + [writer] { #expect(process.status() == nil, "\(process.output.suffix(200))") }
        }
    }

    @Test(arguments: Variant.of("memoryThatMayShrinkIsRefused", storages: ["memfd"]))
    func memoryThatMayShrinkIsRefused(variant: Variant) throws {
        try variant.judge { scene in
            let writer = try scene.swiftPeer("write", "storage=file", "64x64*1", "hold")
            try scene.wait(until: "there is a frame") { writer.value("published") != nil }
            // The same frames in memory of our own, and nothing sealed.
            let path = try #require(scene.frames)
            let bytes = try FileDescriptor.open(path, O_RDONLY).readBytes(1 << 20)
            let memory = try FileDescriptor.memory("test")
            #expect(write(memory.raw, bytes, bytes.count) == bytes.count)
            unlink(path)
            let folder = try FileDescriptor.open(scene.path, O_RDONLY | O_DIRECTORY)
            let name = String(path.dropFirst(scene.path.count + 1))
            let service = try DescriptorService(giving: memory, at: name, in: folder)
            let reader = try scene.peer("read", "frames=1", "seconds=2")
            #expect(try reader.wait(timeout: scene.patience) == .code(1))
            #expect(reader.output.contains("is not sealed"))
            withExtendedLifetime(service) {}
        }
    }

    /// Invariant: untrustedFiles.
    @Test(arguments: Variant.of("whatIsPlantedIsRefused", storages: ["file"]))
    func whatIsPlantedIsRefused(variant: Variant) throws {
        try variant.judge { scene in
            let writer = try scene.swiftPeer("write", "storage=file", "64x64*1", "hold")
            try scene.wait(until: "there is a frame") { writer.value("published") != nil }
            let frames = try #require(scene.frames)
            // It would put a status of its own in the place of what is planted.
            try writer.suspend()
            for path in [frames, scene.path + "/status", scene.path + "/writer.lock", scene.path + "/reader.lock"] {
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
                    let reader = try scene.peer("read", "frames=1", "seconds=2")
                    let exit = try reader.wait(timeout: scene.patience)
                    #expect(exit == .code(1), "\(kind) \(path): \(reader.output)")
                    #expect(reader.output.contains("error=\(path) "), "\(kind) \(path): \(reader.output)")
                    if kind == "folder" { rmdir(path) } else { unlink(path) }
                    chown(away, geteuid(), getegid())
                    chmod(away, 0o600)
                    #expect(rename(away, path) == 0)
                }
            }
            writer.kill(SIGCONT)
            try scene.finish(try scene.peer("read", "frames=1", "seconds=2"), "a reader after all that")
        }
    }

    @Test(arguments: Variant.of("damageHurtsNobody", storages: ["file"]))
    func damageHurtsNobody(variant: Variant) throws {
        try variant.judge { scene in
            guard variant.isCorrect else {
                let frames = try Self.untouchedFrames(in: scene)
                try scene.finish(try scene.peer("mutate", "count=30000", "seed=1"), "the reader")
                return withExtendedLifetime(frames) {}
            }
            let scenes = try (0..<3).map { _ in try Scene(variant) }
            let frames = try scenes.map { try Self.untouchedFrames(in: $0) }
            let readers = try [
                scenes[0].swiftPeer("mutate", "count=\(Scene.amount(100_000))", "seed=1"),
                scenes[1].swiftPeer("mutate", "count=\(Scene.amount(100_000))", "seed=2"),
                Subprocess(
                    [TestPrograms.bridgePeer("address")]
                        + scenes[2].arguments("mutate", ["count=\(Scene.amount(20_000))", "seed=3"]),
                    environment: Scene.calm
                ),
            ]
            for reader in readers {
                let exit = try reader.wait()
                #expect(exit == .code(0), "\(reader.output) \(reader.errorOutput.prefix(2000))")
                #expect(reader.value("refused") ?? 0 > 5_000)
                #expect(reader.value("shown") ?? 0 > 5_000)
            }
            withExtendedLifetime((scenes, frames)) {}
        }
    }

    /// Frames whose writer is stopped, so that it does not replace them when they are damaged.
    private static func untouchedFrames(in scene: Scene) throws -> Subprocess {
        let writer = try scene.swiftPeer("write", "storage=file", "64x64*1", "hold")
        try scene.wait(until: "there is a frame") { writer.value("published") != nil }
        try writer.suspend()
        return writer
    }

    @Test(arguments: Variant.of("aFullFileSystemIsNamed", storages: ["file"]))
    func aFullFileSystemIsNamed(variant: Variant) throws {
        try variant.judge { scene in
            _ = try scene.directory()
            let words = scene.arguments("write", ["64x64*2", "1920x1080*1"]).joined(separator: " ")
            let writer = try Subprocess(
                [
                    "unshare", "-m", "sh", "-c",
                    "mount -t tmpfs -o size=2m,mode=700 none \(scene.path) && exec \(scene.program) \(words)",
                ],
                environment: Scene.calm
            )
            #expect(try writer.wait(timeout: scene.patience) == .code(1))
            #expect(writer.output.contains("error=no space for 9 MiB of frames"), "\(writer.output)")
        }
    }

    /// Not a byte is left: what the dead writer's frames held is room for its successor, unless somebody reads them.
    @Test(arguments: Variant.of("aSuccessorTakesTheRoomOfTheDead", storages: ["file"]))
    func aSuccessorTakesTheRoomOfTheDead(variant: Variant) throws {
        try variant.judge { scene in
            _ = try scene.directory()
            func writer(_ size: String) -> String {
                ([scene.program] + scene.arguments("write", ["\(size)*1", "hold"])).joined(separator: " ")
            }
            let script = """
                set -e
                mount -t tmpfs -o size=512k,mode=700 none \(scene.path)
                fill() { cat /dev/zero 2> /dev/null >> \(scene.path)/fill || true; }
                \(writer("256x128")) & writer=$!
                until grep -qs state=active \(scene.path)/status; do kill -0 $writer; sleep 0.01; done
                fill
                # Somebody else gets the room that is kept for the status.
                until rm \(scene.path)/.status 2> /dev/null; do sleep 0.01; done
                fill
                kill -KILL $writer
                wait $writer || true
                \(writer("64x64")) & writer=$!
                until grep -qs pid=$writer \(scene.path)/status && grep -qs state=active \(scene.path)/status; do
                    kill -0 $writer
                    sleep 0.01
                done
                kill -KILL $writer
                """
            // What it starts ends with it.
            let namespace = ["unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc"]
            let process = try Subprocess(namespace + ["bash", "-c", script], environment: Scene.calm)
            let exit = try process.wait(timeout: scene.patience)
            defer { process.kill(SIGKILL) }
            guard exit == .code(0) else { throw Unkept("\(exit): \(process.output) \(process.errorOutput)") }
            #expect(process.words("began") == ["starting", "starting"])
        }
    }

    @Test(arguments: Variant.of("aClockThatIsAheadHurtsNobody", storages: ["file"]))
    func aClockThatIsAheadHurtsNobody(variant: Variant) throws {
        try variant.judge { scene in
            func tomorrow(_ words: [String]) throws -> Subprocess {
                try Subprocess(["unshare", "--time", "--fork", "--kill-child", "--monotonic", "86400"] + words)
            }
            let writer = try tomorrow([scene.program] + scene.arguments("write", ["rate=30", "64x64*0"]))
            try scene.wait(until: "there is a frame") { writer.value("published") != nil }
            let watch = try scene.peer("watch", "seconds=1")
            try scene.finish(try scene.peer("read", "frames=5", "sleep=1", "seconds=20"), "a reader of yesterday")
            try scene.finish(watch, "who looks how it is")
            #expect(watch.words("state") == ["active"])
            writer.kill(SIGKILL)
            try writer.wait()
            try scene.wait(until: "its child is gone") { try !scene.directory().hasWriter() }

            let other = try scene.peer("write", "rate=30", "64x64*0")
            try scene.wait(until: "there is a frame") { other.value("published") != nil }
            let reader = try tomorrow([scene.program] + scene.arguments("read", ["frames=5", "sleep=1", "seconds=20"]))
            try scene.finish(reader, "a reader of tomorrow")
        }
    }

    @Test(arguments: Variant.of("anotherVersionIsNamed", storages: ["file"]))
    func anotherVersionIsNamed(variant: Variant) throws {
        try variant.judge { scene in
            let frames = try Self.untouchedFrames(in: scene)
            let file = try FileDescriptor.open(try #require(scene.frames), O_RDWR)
            var header = try file.readBytes(64)
            header[12] = 3
            withUnsafeBytes(of: crc32c(header[..<60])) { header.replaceSubrange(60..., with: $0) }
            #expect(pwrite(file.raw, header, 64, 0) == 64)
            let reader = try scene.peer("read", "frames=1", "seconds=2")
            #expect(try reader.wait(timeout: scene.patience) == .code(1))
            #expect(reader.output.contains("has layout 3, and this program reads up to 2"))
            withExtendedLifetime(frames) {}
        }
    }

    @Test(arguments: [Variant(name: "thread", storage: "file"), Variant(name: "release-weakened", storage: "file")])
    func theThreadSanitizerIsContent(variant: Variant) throws {
        let scene = try Scene(variant)
        let pair = try scene.peer("pair", "frames=2000")
        let exit = try pair.wait()
        let hasRace = pair.errorOutput.contains("ThreadSanitizer: data race")
        if variant.name == "thread" {
            #expect(exit == .code(0) && !hasRace, "\(pair.errorOutput.prefix(2000))")
        } else {
            #expect(hasRace)
        }
    }

    /// A mistake whose promise nobody tests would be found by nobody.
    @Test(arguments: Variant.names())
    func everyMistakeHasItsTest(name: String) throws {
        let promise = try #require(Variant.headers(name)["Promise"])
        let suites = ["Death", "Hostility", "PausePromise", "Picture", "SoundDeath", "SoundHostility", "SoundPromise"]
        let sources = suites.compactMap { suite -> String? in
            let file = try? FileDescriptor.open("Tests/BridgePromiseTests/\(suite)Tests.swift", O_RDONLY)
            return (try? file?.readBytes(1 << 20)).flatMap { $0.map { String(decoding: $0, as: UTF8.self) } }
        }
        #expect(sources.contains { $0.contains("func \(promise)(") })
    }
}
