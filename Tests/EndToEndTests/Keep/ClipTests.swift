import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing
import Time

extension Keep {
    @Suite struct ClipTests {
        /// The file has the time before the change too.
        @Test func whatChangesIsInAClip() throws {
            let scene = try RecordScene()
            let recorder = try scene.watch("--pre-roll", "2s", "--initial", "3s")
            // There are two seconds before it on a slow machine too.
            usleep(6_000_000)
            #expect(scene.files == [])
            try scene.paint("#204060")
            try wait(until: "a clip begins") { scene.clipEvents.count == 1 }
            #expect(scene.files.count == 1)
            try wait(until: "it ends") { scene.clipEvents.count == 2 }
            let (begun, ended) = (scene.clipEvents[0], scene.clipEvents[1])
            #expect((begun.event, begun.state, begun.id) == ("clip_begun", "motion", 1))
            #expect((ended.event, ended.state, ended.id) == ("clip_ended", "quiet", 1))
            let name = try #require(scene.files.first)
            #expect(begun.files == ["\(scene.folder)/\(name)"] && ended.files == begun.files)
            let probe = try scene.probe(name)
            #expect(4.9...5.2 ~= probe.duration, "\(probe.duration)")
            #expect(try scene.broadcast.record(["status"]).output.hasPrefix("waiting for a clip by command"))
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            #expect(scene.files == [name])
        }

        /// Sensitive as it can be.
        @Test func pointerCaretAndClockBeginNone() throws {
            let scene = try RecordScene(size: (1280, 720), showsPointer: true)
            let display = ["env", "DISPLAY=\(scene.server.display)"]
            let pointer = try draw("pointer", on: scene.server, "--fps", "20")
            let terminal = try Subprocess(
                display + ["xterm", "-bc", "-geometry", "40x10+600+300", "-e", "sleep", "1000"]
            )
            let clock = try Subprocess(
                display + ["xclock", "-digital", "-strftime", "%H:%M:%S", "-update", "1", "-geometry", "+60+40"]
            )
            try wait(until: "all are shown") { scene.shows("XTerm") && scene.shows("XClock") }
            let recorder = try scene.watch()
            usleep(20_000_000)
            #expect(scene.clipEvents == [] && scene.files == [], "\(recorder.errorOutput)")
            let burst = try draw("counter", on: scene.server, "--fps", "10")
            try wait(until: "what moves begins one") { scene.clipEvents.count == 1 }
            for process in [burst, clock, terminal, pointer] { process.stop() }
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            #expect(try scene.probe(try #require(scene.files.first)).frames > 0)
        }

        @Test func aCommandBeginsAClip() throws {
            let scene = try RecordScene()
            let program = scene.broadcast.folder.file("told")
            let script = try scene.script("for file; do echo \"$file\" >> \(program); done")
            let recorder = try scene.watch("--initial", "1s", "--replay", "5s", "--on-clip", script)
            try scene.waitForPicture()
            #expect(try scene.broadcast.record(["trigger"]).code == 0)
            try wait(until: "it begins") { scene.clipEvents.map(\.state) == ["command"] }
            try wait(until: "it ends") { scene.clipEvents.count == 2 }
            let path = "\(scene.folder)/\(try #require(scene.files.first))"
            try wait(until: "the program has run") { (try? contents(of: program)) ?? [] == Array("\(path)\n".utf8) }
            #expect(try scene.broadcast.record(["trigger"]).code == 0)
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            #expect(scene.clipEvents.map(\.state) == ["command", "quiet", "command", "ended"])
            try wait(until: "the program has run for the last one, too") {
                try contents(of: program).count { $0 == UInt8(ascii: "\n") } == 2
            }
        }

        @Test func theLastTimeCanBeKept() throws {
            let scene = try RecordScene()
            let counter = try draw("counter", on: scene.server, "--fps", "30")
            let recorder = try scene.record(["--replay", "6s"], isQuiet: true)
            try scene.waitForPicture()
            usleep(7_000_000)
            for (words, length) in [(["4"], 4.0), ([], 6.0), (["1h"], 6.0)] {
                let result = try scene.broadcast.run(["replay"] + words)
                #expect(result.code == 0, "\(result.errorOutput)")
                let path = try #require(result.output.split(separator: "\n").first)
                let probe = try scene.probe(String(path.dropFirst(scene.folder.count + 1)))
                #expect(length - 0.1...length + 0.1 ~= probe.duration)
                #expect(probe.frames > 20)
            }
            #expect(scene.files.count == 3, "\(scene.files)")
            let refused = try scene.broadcast.run(["replay", "0"])
            #expect(refused.code == 64)
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            counter.stop()
        }

        /// Invariant: paused.
        @Test func whatAPauseHidesIsNotKept() throws {
            let scene = try RecordScene()
            let recorder = try scene.record(["--replay", "60s"], isQuiet: true)
            try scene.waitForPicture()
            #expect(try scene.broadcast.run("pause").code == 0)
            try wait(until: "nothing of before is there") {
                let result = try scene.broadcast.run(["replay"])
                return result.code != 0 && result.errorOutput.contains("no picture yet")
            }
            try scene.removeFiles()
            let resumed = MonotonicClock.now()
            #expect(try scene.broadcast.run("resume").code == 0)
            try scene.waitForPicture(keepingFile: true)
            let passed = (MonotonicClock.now() - resumed) / .seconds(1)
            #expect(try scene.probe(try #require(scene.files.first)).duration <= passed)
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
        }
    }
}

extension RecordScene {
    /// Records clips of what changes, as sensitive as it can be.
    fileprivate func watch(_ arguments: String...) throws -> Subprocess {
        try record(["--on-change", "high", "--events", broadcast.folder.file("events")] + arguments, isQuiet: true)
    }

    fileprivate struct ClipEvent: Decodable, Equatable {
        let event: String
        let id: Int
        let state: String
        let files: [String]?
    }

    fileprivate var clipEvents: [ClipEvent] {
        let text = (try? contents(of: broadcast.folder.file("events"))) ?? []
        return text.split(separator: UInt8(ascii: "\n")).compactMap {
            try? JSONDecoder().decode(ClipEvent.self, from: Data($0))
        }
    }

    /// Waits until the recorder has a picture, which it then writes.
    fileprivate func waitForPicture(keepingFile: Bool = false) throws {
        try TestSupport.wait(until: "there is a picture") { try broadcast.run(["replay"]).code == 0 }
        if !keepingFile { try removeFiles() }
    }

    fileprivate func removeFiles() throws { for name in files { unlink("\(folder)/\(name)") } }

    fileprivate func paint(_ colour: String) throws {
        try Subprocess.run(["xsetroot", "-display", server.display, "-solid", colour])
    }

    /// Whether a window of a class is shown.
    fileprivate func shows(_ name: String) -> Bool {
        let windows = try? server.xdotool("search", "--onlyvisible", "--class", name)
        return windows.map { !$0.isEmpty } ?? false
    }

    /// A program for all users.
    fileprivate func script(_ text: String) throws -> String {
        let path = broadcast.folder.file("script")
        try FileDescriptor.open(path, O_WRONLY | O_CREAT).write("#!/bin/sh\n\(text)\n")
        chmod(path, 0o755)
        return path
    }
}
