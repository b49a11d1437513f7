import Foundation
import Pixels
import Posix
import TestSupport

/// What the contenders look at: an X server of our own with one workload on it.
final class Stage {
    static let size = PixelSize(width: 1920, height: 1080)

    let display: String
    let workload: ChildProcess
    private let server: ChildProcess

    init(_ kind: String, capturingOutput: Bool = false) throws {
        (server, display) = try Self.startServer()
        workload = try ChildProcess(
            sibling("workload"),
            [kind, "--display", display],
            capturingOutput: capturingOutput
        )
        sleep(seconds: 1)
        try workload.requireRunning()
    }

    deinit {
        workload.stop()
        server.stop()
    }

    private static func startServer() throws -> (ChildProcess, String) {
        for number in 70..<80 where !FileManager.default.fileExists(atPath: socket(number)) {
            let server = try ChildProcess(
                "Xvfb",
                [":\(number)", "-screen", "0", "\(size)x24", "-nolisten", "tcp", "-noreset"]
            )
            let start = MonotonicClock.now()
            while server.isRunning, secondsSince(start) < 5 {
                if FileManager.default.fileExists(atPath: socket(number)) { return (server, ":\(number)") }
                sleep(seconds: 0.02)
            }
            server.stop()
        }
        throw BenchError("no Xvfb could be started on the displays :70 to :79")
    }

    private static func socket(_ number: Int) -> String { "/tmp/.X11-unix/X\(number)" }

    /// Grabs the screen with an independent program, at 30 fps, and gives each grab as BGRX rows without padding.
    func grab(count: Int, _ body: ([UInt8]) -> Void) throws {
        let grabber = try ChildProcess(
            "ffmpeg",
            [
                "-loglevel", "error", "-f", "x11grab", "-framerate", "30", "-video_size", "\(Self.size)", "-i", display,
                "-frames:v", "\(count)", "-pix_fmt", "bgr0", "-f", "rawvideo", "pipe:1",
            ],
            capturingOutput: true
        )
        defer { grabber.stop() }
        let frames = FrameStream(grabber.outputDescriptor, frameBytes: Self.size.width * Self.size.height * 4)
        for _ in 0..<count {
            guard let frame = frames.next() else { throw BenchError("ffmpeg could not grab the screen") }
            body(frame)
        }
    }
}
