import Glibc
import TestSupport
import Testing

extension Keep {
    /// A person pauses recordings, cuts them, and switches them off.
    @Suite struct RecordSwitchTests {
        @Test func aPersonPausesAndCuts() throws {
            let scene = try RecordScene()
            let counter = try draw("counter", on: scene.server, "--fps", "30")
            #expect(try scene.broadcast.record(["status"]).code == 75)
            let recorder = try scene.record()
            func lines(_ words: String...) throws -> [Substring] {
                let result = try scene.broadcast.record(words)
                #expect(result.code == 0, "\(result.errorOutput)")
                return result.output.split(separator: "\n")
            }
            let cut = try lines("cut")
            #expect(cut == scene.files.filter { $0.hasSuffix(".webm") }.map { "\(scene.folder)/\($0)" })
            #expect(try lines("pause").count == 1)
            let files = scene.files
            #expect(files.count == 2 && files.allSatisfy { $0.hasSuffix(".webm") })
            #expect(try lines("status") == ["paused, 2 files are whole"])
            usleep(500_000)
            #expect(scene.files == files)
            #expect(try lines("resume") == [])
            try recorder.wait(until: "it goes on") { scene.files.count == 3 }
            #expect(try lines("status", "--json").first?.contains(#""state":"recording""#) ?? false)
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            for name in scene.files { #expect(try scene.probe(name).frames > 0, "\(name)") }
            counter.stop()
        }

        /// Also for a recorder that starts while it is off.
        @Test func theSwitchHoldsForAllRecorders() throws {
            let scene = try RecordScene()
            let counter = try draw("counter", on: scene.server, "--fps", "30")
            let recorder = try scene.record(["--replay", "10s"], isQuiet: true)
            func does(_ words: String...) throws -> Bool { try scene.broadcast.record(words).code == 0 }
            func state() throws -> String { try scene.broadcast.record(["status"]).output }
            #expect(try does("off"))
            #expect(try state() == "switched off, 0 files are whole\n")
            #expect(try does("resume"))
            #expect(try state() == "switched off, 0 files are whole\n")
            let refusal = try scene.broadcast.record(["trigger"])
            #expect(refusal.code != 0 && refusal.errorOutput.contains("oriel record on"))
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            let another = try scene.record([], isQuiet: true)
            #expect(another.errorOutput.contains("switched off"))
            #expect(try state() == "switched off, 0 files are whole\n")
            #expect(scene.files.isEmpty)
            #expect(try does("on"))
            try another.wait(until: "it records") { another.errorOutput.contains("recording into") }
            another.kill(SIGINT)
            #expect(try another.wait() == .code(0))
            #expect(try does("off") && does("on"), "without a recorder")
            counter.stop()
        }

        @Test func theStrictSwitchPausesTheBroadcast() throws {
            let scene = try RecordScene()
            let recorder = try scene.record()
            func condition() throws -> String { try scene.broadcast.run("status").output }
            #expect(try scene.broadcast.record(["off", "--strict"]).code == 0)
            #expect(try condition().hasPrefix("paused"))
            try recorder.wait(until: "the file is whole") { recorder.outputLines.count == 1 }
            #expect(try scene.broadcast.run("resume").code == 0)
            usleep(1_000_000)
            #expect(scene.files.count == 1, "the switch is still off")
            #expect(try scene.broadcast.record(["off", "--strict"]).code == 0)
            #expect(try scene.broadcast.record(["on", "--strict"]).code == 0)
            #expect(try !condition().hasPrefix("paused"))
            try recorder.wait(until: "it goes on") { scene.files.count == 2 }
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
        }

        /// Invariant: paused.
        @Test func aPauseIsInNoFile() throws {
            let scene = try RecordScene()
            let counter = try draw("counter", on: scene.server, "--fps", "30")
            let recorder = try scene.record()
            #expect(try scene.broadcast.run("pause").code == 0)
            try recorder.wait(until: "the file ends") { recorder.outputLines.count == 1 }
            let first = scene.files
            #expect(first.count == 1)
            usleep(1_500_000)
            #expect(scene.files == first, "nothing is written during a pause")
            #expect(try scene.broadcast.run("resume").code == 0)
            try recorder.wait(until: "another one begins") { scene.files.count == 2 }
            #expect(try scene.broadcast.run("stop").code == 0)
            #expect(try recorder.wait() == .code(0))
            #expect(recorder.errorOutput.contains("the broadcast has ended"))
            for name in scene.files { #expect(try scene.probe(name).frames > 0, "\(name)") }
            counter.stop()
        }
    }
}
