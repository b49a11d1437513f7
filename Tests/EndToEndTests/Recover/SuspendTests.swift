import Glibc
import Posix
import TestSupport
import Testing

extension Recover {
    /// A sender whose machine is suspended, as its kernel and clocks would tell it (`Tests/Counterparts/sleeper.c`).
    @Suite struct SuspendTests {
        private let folder: TemporaryDirectory
        private let pipe: Int32
        private let environment: [String: String]

        init() throws {
            folder = try TemporaryDirectory(of: .shared)
            let path = folder.file("pipe")
            #expect(mkfifo(path, 0o666) == 0 && chmod(path, 0o666) == 0)
            // With a reader that never reads, so that it is there before the sender.
            pipe = try check("open") { open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC) }
            environment = ["LD_PRELOAD": try Programs.sleeper.get(), "ORIEL_SLEEPER": path]
        }

        private func suspend(seconds: UInt64) throws {
            var time = seconds * 1_000_000_000
            try check("write") { write(pipe, &time, MemoryLayout<UInt64>.size) }
        }

        /// Neither the server nor the other member has noticed anything.
        @Test func aRoomIsJoinedAgain() throws {
            let scene = try RoomScene()
            let path = scene.second.file("seen.y4m")
            let one = try scene.first.attach(environment: environment)
            try one.wait(until: "the first is in the room") { one.errorOutput.contains("in room") }
            let other = try scene.second.attach("--render", path)
            func sees(_ colour: RenderedPictures.Colour) throws {
                try wait(until: "it sees \(colour): \(one.errorOutput) \(other.errorOutput)") {
                    try RenderedPictures(path)?.shows(colour) ?? false
                }
            }
            try sees(.red)
            // A nap changes nothing.
            try suspend(seconds: 3)
            try scene.first.display.fill(.blue)
            try sees(.blue)
            #expect(one.errorOutput.ranges(of: "in room").count == 1)
            try suspend(seconds: 100)
            try one.wait(until: "it has joined again") {
                one.errorOutput.ranges(of: "in room").count == 2
            }
            #expect(one.errorOutput.contains("this machine was suspended for 100 s"), "\(one.errorOutput)")
            try scene.first.display.fill(.green)
            try sees(.green)
            for process in [one, other] {
                process.kill(SIGTERM)
                try #expect(process.wait() == .code(0), "\(process.errorOutput)")
            }
        }

        /// It was started again meanwhile, and this side has heard of it a moment ago by its own clock.
        @Test func aMediaServerIsAskedAtOnce() throws {
            let scene = try WHIPScene()
            let counter = try draw("counter", on: scene.display, "--fps", "30")
            let sender = try scene.attach(environment: environment)
            try wait(until: "pictures flow: \(sender.errorOutput)") { try scene.report.frames > 60 }
            try sender.suspend()
            try scene.restartServer()
            try suspend(seconds: 600)
            sender.kill(SIGCONT)
            try scene.waitForPicture(sender)
            #expect(sender.errorOutput.contains("this machine was suspended for 600 s"), "\(sender.errorOutput)")
            counter.stop()
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
            try wait(until: "the session is deleted") { try scene.report.deleted == 1 }
        }
    }
}
