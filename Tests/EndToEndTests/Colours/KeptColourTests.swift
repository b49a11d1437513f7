import Glibc
import TestSupport
import Testing

/// What is kept of the screen has its colours too, in red, green and blue.
extension Colours {
    @Suite struct KeptColourTests {
        private let scene: RecordScene
        private let chart: Subprocess

        init() throws {
            scene = try RecordScene(hasSender: false, size: (1280, 720))
            chart = try stillChart(on: scene.server)
        }

        /// Invariant: exact.
        @Test(arguments: ["vp8", "vp9", "av1"]) func aRecordingHasTheColoursOfTheScreen(codec: String) throws {
            let recorder = try scene.record("--codec", codec)
            try waitForColours(of: chart, codec) {
                usleep(1_500_000)
                let cut = try scene.broadcast.record(["cut"])
                guard cut.code == 0, let file = cut.output.split(separator: "\n").first else {
                    throw Unexpected("\(cut)")
                }
                return try lastPicture(of: String(file))
            }
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            chart.stop()
        }

        @Test(arguments: ["vp9", "av1"]) func aPushedSegmentHasTheColoursOfTheScreen(codec: String) throws {
            let port = try Ports.free(AF_INET)
            let server = try scene.serve(port)
            let sender = try scene.push(toPort: port, "--codec", codec, "--segment-length", "1s")
            try waitForColours(of: chart, codec) {
                // The server may not have the whole of the last one.
                guard let number = try scene.segments.dropLast().last else { return nil }
                let file = scene.broadcast.folder.file("segment.mp4")
                let script = "cd \"$0/live/video\"; cat init.mp4 \"$1.m4s\" > \"$2\""
                try Subprocess.run(["sh", "-c", script, scene.folder, "\(number)", file])
                return try lastPicture(of: file)
            }
            sender.kill(SIGINT)
            #expect(try sender.wait() == .code(0))
            server.stop()
            chart.stop()
        }

        private func lastPicture(of file: String) throws -> RGBPicture {
            let picture = scene.broadcast.folder.file("last.png")
            let input = ["ffmpeg", "-nostdin", "-y", "-v", "error", "-i", file]
            try Subprocess.run(input + ["-update", "1", "-fps_mode", "passthrough", picture])
            return try RGBPicture(file: picture, width: 1280, height: 720)
        }
    }
}
