import FrameBridge
import Glibc
import Posix
import TestSupport
import TestTraits
import Testing
import Time

/// Nobody sees what a person has hidden, and only a person shows it again.
@Suite(.serialized, .waits(seconds: 30)) struct PausePromiseTests {
    /// A file system without a byte and an inode left: a pause is told as done, and outlives its process; what is asked after
    /// that is done too.
    /// Invariant: pauseNeedsNoDisk.
    @Test(arguments: Variant.of("aPauseNeedsNoRoom"))
    func aPauseNeedsNoRoom(variant: Variant) throws {
        try variant.judge { scene in
            _ = try scene.directory()
            func peer(_ command: String, _ words: String...) -> String {
                ([scene.program] + scene.arguments(command, words)).joined(separator: " ")
            }
            let script = """
                set -e
                mount -t tmpfs -o size=512k,nr_inodes=16,mode=700 none \(scene.path)
                \(peer("write", "64x64*1", "hold")) & writer=$!
                until grep -qs state=active \(scene.path)/status; do kill -0 $writer; sleep 0.01; done
                fill() {
                    cat /dev/zero 2> /dev/null >> \(scene.path)/fill || true
                    while touch \(scene.path)/fill.$((count += 1)) 2> /dev/null; do :; done
                }
                fill
                \(peer("ask", "pause"))
                grep -q state=paused \(scene.path)/status
                \(peer("ask", "resume"))
                grep -q state=active \(scene.path)/status
                # Somebody else gets the room that is kept for the status.
                until rm \(scene.path)/.status 2> /dev/null; do sleep 0.01; done
                fill
                \(peer("ask", "pause"))
                grep -q state=active \(scene.path)/status
                kill -KILL $writer
                wait $writer || true
                rm \(scene.path)/fill.1
                truncate -s -65536 \(scene.path)/fill
                \(peer("write", "64x64*1", "hold")) & writer=$!
                until grep -qs pid=$writer \(scene.path)/status && grep -qs '^gen=[1-9a-f]' \(scene.path)/status; do
                    kill -0 $writer
                    sleep 0.01
                done
                \(peer("ask", "resume"))
                \(peer("ask", "stop")) > /dev/null
                wait $writer
                cat \(scene.path)/status
                """
            // What it starts ends with it.
            let namespace = ["unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc"]
            let process = try Subprocess(namespace + ["bash", "-c", script], environment: Scene.calm)
            let exit = try process.wait(timeout: scene.patience)
            defer { process.kill(SIGKILL) }
            guard exit == .code(0) else { throw Unkept("\(exit): \(process.output) \(process.errorOutput)") }
            #expect(process.words("began") == ["starting", "paused"])
            #expect(process.words("answer") == ["granted", "granted", "granted", "granted"], "\(process.output)")
            #expect(process.words("state").last == "stopped")
        }
    }

    private static let page = 4096

    /// What cannot be written is not told as done, and is tried again until it is.
    /// Invariant: paused.
    @Test(arguments: Variant.of("aPauseIsToldWhenItIsKept", storages: ["file"]))
    func aPauseIsToldWhenItIsKept(variant: Variant) throws {
        try variant.judge { scene in
            let words = scene.arguments("write", ["64x64*1", "hold"]).joined(separator: " ")
            _ = try scene.directory()
            let writer = try Subprocess(
                ["bash", "-c", "trap '' XFSZ; exec \(scene.program) \(words)"],
                environment: Scene.calm
            )
            try scene.wait(until: "there is a frame") { writer.value("published") != nil }
            // From now on it can write an answer, and not the page after that, which is for its successor.
            try limitFiles(of: writer.pid, to: rlim_t(2 * Self.page))
            let asking = try scene.peer("ask", "pause")
            let watch = try scene.peer("watch")
            try scene.wait(until: "it is paused") { watch.words("state").last == "paused" }
            let bridge = try scene.directory()
            let pausedAt = try #require(try BridgeInspection(bridge).heartbeatAt)
            try scene.wait(until: "it has tried again") {
                try BridgeInspection(bridge).heartbeatAt.map { $0 > pausedAt + .milliseconds(1200) } ?? false
            }
            let control = try FileDescriptor.open("\(bridge.path)/control", O_RDONLY).readBytes(2 * Self.page)
            // The number of the request, and of the one that was answered.
            guard control[..<8] != control[Self.page..<Self.page + 8] else { throw Unkept("it is told as done") }
            try limitFiles(of: writer.pid, to: .max)
            try scene.finish(asking, "who asks")
            #expect(asking.words("answer") == ["granted"])
            writer.kill(SIGKILL)
            try writer.wait()
            let successor = try scene.peer("write", "hold")
            try scene.wait(until: "the successor begins") { !successor.words("began").isEmpty }
            #expect(successor.words("began") == ["paused"])
        }
    }

    private func limitFiles(of process: pid_t, to bytes: rlim_t) throws {
        try Subprocess.run([
            "prlimit", "--pid", "\(process)", "--fsize=\(bytes == .max ? "unlimited" : "\(bytes)"):unlimited",
        ])
    }

    /// From the moment at which a writer begins to hide the screen, wherever it dies.
    /// Invariant: paused.
    @Test(arguments: Variant.of("nothingFromBeforeAPauseIsShown", storages: ["file"]))
    func nothingFromBeforeAPauseIsShown(variant: Variant) throws {
        try variant.judge { scene in
            var (point, seen) = (0, Set<String>())
            while true {
                point += 1
                let writer = try Subprocess(
                    [scene.program] + scene.arguments("write", ["verbose=1", "64x64*3", "slate"]),
                    environment: Scene.calm.merging(["ORIEL_CRASH_POINT": "\(point)"]) { $1 }
                )
                let exit = try writer.wait(timeout: scene.patience)
                guard writer.value("published") == 3 || exit == .code(0) else { continue }
                let look = try scene.peer("look")
                try scene.finish(look, "who looks")
                let (horizon, captured) = (look.value("horizon") ?? 0, look.value("captured") ?? 0)
                seen.insert(captured == 0 ? "nothing" : horizon == 0 ? "before" : "after")
                guard captured == 0 || captured >= horizon else {
                    throw Unkept("killed at \(point), it shows \(captured), before \(horizon)")
                }
                if exit == .code(0) { break }
            }
            #expect(seen == ["before", "nothing", "after"])
        }
    }

    /// Whatever is left of the folder when a writer dies.
    /// Invariant: survives.
    @Test(arguments: Variant.of("onlyACleanEndIsAnEnd"))
    func onlyACleanEndIsAnEnd(variant: Variant) throws {
        try variant.judge { scene in
            for damage in ["status damaged", "status removed", "both damaged", "status and frames removed"] {
                let writer = try scene.peer("write", "64x64*1", "hold")
                try scene.wait(until: "there is a frame") { writer.value("published") != nil }
                let watch = try scene.peer("watch")
                try scene.wait(until: "it is live") { watch.words("state").last == "active" }
                // So that it does not mend what is damaged.
                try writer.suspend()
                let status = scene.path + "/status"
                let files = damage.hasPrefix("both") || damage.contains("frames") ? [status, scene.frames!] : [status]
                for path in files {
                    if damage.hasSuffix("removed") { unlink(path) } else { try garble(path) }
                }
                writer.kill(SIGKILL)
                try writer.wait()
                try scene.wait(until: "it is dead, \(damage): \(watch.output)") { watch.words("state").last == "dead" }
                #expect(!watch.words("state").contains("stopped"), "\(damage)")
                // And for somebody who comes now.
                let late = try scene.peer("watch", "seconds=1")
                try scene.finish(late, "who comes late")
                #expect(late.words("state") == ["dead"], "\(damage)")
                #expect(try BridgeInspection(scene.directory()).liveness == .dead)
                let successor = try scene.peer("write", "64x64*1", "active", "stop")
                try scene.finish(successor, "a successor")
                try scene.wait(until: "it has ended: \(watch.output)") { watch.words("state").last == "stopped" }
                watch.kill(SIGKILL)
            }
        }
    }

    private func garble(_ path: String) throws {
        // A socket has no bytes.
        guard let file = try? FileDescriptor.open(path, O_WRONLY) else { return }
        try file.write((0..<256).map { _ in UInt8.random(in: 0 ... .max) }, at: 0)
    }
}
