import Glibc
import Posix
import TestSupport
import Testing
import Time

extension Pause {
    @Suite struct HorizonTests {
        /// The instant between a pause and the news of it, for as long as one likes: the capture process is stopped when it
        /// has said what may not be seen any more, and nothing else.
        /// Invariant: paused.
        @Test func whatIsBeyondTheHorizonReachesNobody() throws {
            let web = try WebBroadcast()
            let present = try web.view(.pion, "--frames", "1", "--seconds", "300")
            #expect(present.frames > 0)
            let watcher = try Counterparts.viewer(
                .pion,
                of: web.whep,
                token: WebBroadcast.token,
                in: web.network,
                ["--frames", "1000000", "--seconds", "300"]
            )
            try web.sender.wait(until: "somebody watches") { web.sender.errorOutput.contains("viewer 2 looks in") }
            try web.capture.suspend()
            let now = MonotonicClock.now().nanoseconds
            let header = try framesFile(in: web.broadcast.directory)
            // The heartbeat, and the horizon.
            for offset in [72, 96] { try header.write(withUnsafeBytes(of: now) { Array($0) }, at: offset) }
            let viewers = try (0..<2).map { _ in
                try Counterparts.viewer(
                    .pion,
                    of: web.whep,
                    token: WebBroadcast.token,
                    in: web.network,
                    ["--frames", "1", "--seconds", "10"]
                )
            }
            for viewer in viewers {
                let late = try Counterparts.report(viewer)
                #expect(late.connected)
                #expect(late.frames == 0)
            }
            let path = web.broadcast.folder.file("picture.png")
            let inspection = try web.broadcast.run("inspect", "--png", path)
            #expect(inspection.code == 75)
            #expect(access(path, F_OK) != 0)
            // It goes on with what comes next, here a slate.
            web.capture.kill(SIGCONT)
            #expect(try web.broadcast.run("pause").code == 0)
            #expect(try web.view(.pion, "--frames", "1", "--seconds", "300").frames > 0)
            watcher.stop()
        }

        private func framesFile(in folder: String) throws -> FileDescriptor {
            let names = try FileDescriptor.open(folder, O_RDONLY | O_DIRECTORY).entries()
            let name = try #require(names.first { $0.hasPrefix("frames.") })
            return try FileDescriptor.open("\(folder)/\(name)", O_WRONLY)
        }
    }
}
