import FrameBridge
import Glibc
import TestSupport
import Testing

extension Recover {
    /// The two processes as a person meets them: started, asked, stopped.
    @Suite struct LifeCycleTests {
        @Test(arguments: [SIGTERM, SIGINT])
        func aSignalEndsBothProcessesWithZero(signal: Int32) throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start()
            let sender = try broadcast.attach(toPort: Ports.free())
            sender.kill(signal)
            #expect(try sender.wait() == .code(0))
            capture.kill(signal)
            #expect(try capture.wait() == .code(0))
            let status = try broadcast.run("status")
            #expect(status.code == 75)
            #expect(status.output.hasPrefix("stopped"))
        }

        @Test func stopEndsTheSendersToo() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start()
            let sender = try broadcast.attach(toPort: Ports.free())
            #expect(try broadcast.run("stop").code == 0)
            #expect(try capture.wait() == .code(0))
            #expect(try sender.wait() == .code(0))
            #expect(sender.errorOutput.contains("the broadcast has ended"))
            #expect(try broadcast.run("stop").code == 75)
        }

        @Test func detachedStartReturnsOnceTheBroadcastIsLive() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let started = try CommandResult(
                [broadcast.oriel, "start", "--dir", broadcast.directory, "--display", server.display, "--detach"],
                environment: ["ORIEL_TURN": "user:s3cret@192.0.2.1", "ORIEL_TOKEN": "a-t0ken-of-the-tests"]
            )
            #expect(started.code == 0)
            let status = try broadcast.run("status", "--json")
            #expect(status.code == 0)
            #expect(status.output.contains("\"state\":\"active\""))
            #expect(status.output.contains("\"width\":640"))
            let pid = try #require(status.output.firstMatch(of: /"pid":([0-9]+)/)).1
            let variables = String(decoding: try contents(of: "/proc/\(pid)/environ"), as: UTF8.self)
            #expect(!variables.isEmpty && !variables.contains("s3cret") && !variables.contains("t0ken"))
            #expect(try broadcast.run("stop").code == 0)
        }

        @Test func aDetachedStartThatFailsSaysWhy() throws {
            let broadcast = try Broadcast(on: ":1")
            let started = try broadcast.run("start", "--display", ":4711", "--detach")
            #expect(started.code == 69)
            #expect(started.errorOutput.contains(":4711"))
        }

        @Test func aSenderWaitsForItsBroadcast() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let sender = try Subprocess([
                Programs.oriel, "attach", "rtp://127.0.0.1:\(Ports.free())", "--dir", broadcast.directory, "--sdp",
                broadcast.sdp,
            ])
            try sender.wait(until: "the sender says that it waits") { sender.errorOutput.contains("waiting for it") }
            let capture = try broadcast.start()
            try wait(until: "the sender sends") { access(broadcast.sdp, F_OK) == 0 }
            sender.kill(SIGTERM)
            #expect(try sender.wait() == .code(0))
            capture.stop()
        }

        /// A broadcast that has no picture keeps nobody waiting who does not want to.
        @Test func aSenderOfABroadcastWithoutAPictureCanBeEnded() throws {
            let folder = try TemporaryDirectory()
            let directory = try BridgeDirectory(path: folder.file("bridge"), create: true)
            let writer = try FrameWriter(directory: directory, source: "nothing", framesPerSecond: 30)
            let call = "rtp://127.0.0.1:\(try Ports.free())"
            let command = [Programs.orielOfTests, "attach", call, "--dir", directory.path]
            let impatient = try CommandResult(command + ["--no-wait"])
            #expect(impatient.code == 75)
            #expect(impatient.errorOutput.contains("no picture yet"))
            let sender = try Subprocess(command)
            try sender.wait(until: "the sender says that it waits") { sender.errorOutput.contains("no picture yet") }
            sender.kill(SIGINT)
            #expect(try sender.wait() == .code(0))
            try writer.stop()
        }

        @Test func anXServerThatComesBackIsANewGeneration() throws {
            var server = try XServer(display: ":\(Int.random(in: 1000..<50_000))")
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start()
            func generation() throws -> String {
                let fields = try broadcast.run("inspect", "--json").output.split(separator: ",")
                return String(try #require(fields.first { $0.contains("\"generation\":") }))
            }
            let before = try generation()
            try server.crash()
            try broadcast.wait(forState: "source_lost")
            #expect(try generation() == before)
            server = try XServer(display: broadcast.display)
            try broadcast.wait(forState: "active")
            #expect(try generation() != before)
            #expect(capture.status() == nil)
            capture.stop()
        }
    }
}
