import Glibc
import Posix
import TestSupport
import Testing
import Time

extension Keep {
    @Suite struct RecordTests {
        @Test func whatIsShownIsInTheFile() throws {
            let scene = try RecordScene()
            let counter = try draw("counter", on: scene.server, "--fps", "30")
            let recorder = try scene.record()
            try recorder.wait(until: "there is a while of it") { try scene.size > 100_000 }
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            let name = try #require(scene.files.first)
            #expect(recorder.outputLines == ["\(scene.folder)/\(name)"])
            #expect(name.hasPrefix("default-20") && name.hasSuffix("Z.webm"))
            let probe = try scene.probe(name)
            #expect(probe.streams.map(\.codec) == ["vp8"])
            #expect(probe.frames > 20)
            #expect(probe.duration > 0.5)
            counter.stop()
        }

        /// Its picture was captured before anybody recorded, and does not change.
        @Test func aStillScreenIsInTheFile() throws {
            let scene = try RecordScene()
            let begin = MonotonicClock.now()
            let recorder = try scene.record()
            usleep(3_000_000)
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            let end = MonotonicClock.now()
            let probe = try scene.probe(try #require(scene.files.first))
            #expect(probe.frames >= 2)
            #expect(probe.duration > 2.9 && probe.duration < (end - begin) / .seconds(1) + 0.1)
        }

        /// Whatever it is doing.
        @Test func aRecorderThatIsKilledLosesNothing() throws {
            let scene = try RecordScene()
            let counter = try draw("counter", on: scene.server, "--fps", "30")
            for count in 1...5 {
                let recorder = try scene.record()
                let begin = try scene.size
                try recorder.wait(until: "it has written something") { try scene.size > begin + 1000 * count }
                recorder.kill(SIGKILL)
                try recorder.wait()
                #expect(scene.files.count { $0.hasSuffix(".part") } == 1, "\(scene.files)")
            }
            let recorder = try scene.record()
            try recorder.wait(until: "all others are whole") { scene.files.count { $0.hasSuffix(".webm") } == 5 }
            recorder.kill(SIGTERM)
            #expect(try recorder.wait() == .code(0))
            for name in scene.files { #expect(try scene.probe(name).frames > 0, "\(name)") }
            #expect(scene.files.count == 6)
            counter.stop()
        }

        @Test func aSenderThatComesBackGoesOnInTheFile() throws {
            let scene = try RecordScene()
            let counter = try draw("counter", on: scene.server, "--fps", "30")
            let recorder = try scene.record()
            for _ in 0..<2 {
                scene.sender.kill(SIGKILL)
                try scene.sender.wait()
                let before = try scene.size
                try scene.restartSender()
                try recorder.wait(until: "it goes on: \(scene.files)") { try scene.size > before + 20_000 }
            }
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            for name in scene.files { #expect(try scene.probe(name).frames > 0, "\(name)") }
            counter.stop()
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

extension RecordScene {
    /// Bytes of all files.
    fileprivate var size: Int {
        get throws {
            files.reduce(0) { sum, name in
                var info = stat()
                return stat("\(folder)/\(name)", &info) == 0 ? sum + Int(info.st_size) : sum
            }
        }
    }
}
