import Foundation
import Glibc
import Pixels
import Posix
import TestSupport
import Time

/// The contenders' screen: an X server of our own with one workload.
final class Stage {
    static let size = PixelSize(width: 1920, height: 1080)

    let size: PixelSize
    let display: String
    let workload: ChildProcess
    private let server: ChildProcess

    /// Starts a server and lets the workload settle.
    ///
    /// - Parameter options: of the workload.
    init(
        _ kind: String,
        _ options: [String] = [],
        size: PixelSize = Stage.size,
        capturingOutput: Bool = false
    ) throws {
        self.size = size
        (server, display) = try Self.startServer(size)
        workload = try Self.startWorkload(kind, options, display, capturingOutput)
        sleep(seconds: 1)
        try workload.requireRunning()
    }

    /// Starts a server again on its former display, and returns at once.
    init(_ kind: String, rate: Double, on display: String) throws {
        self.display = display
        size = Self.size
        server = try Self.launchServer(display, size)
        try Self.wait(for: server, display)
        workload = try Self.startWorkload(kind, ["--rate", "\(rate)"], display, false)
    }

    deinit {
        workload.stop()
        server.stop()
    }

    /// Ends the server like a crash. The workload ends with it.
    func crash() {
        server.crash()
        workload.stop()
        // Its presence shows that the next server listens.
        unlink(Self.socket(of: display))
    }

    private static func startWorkload(
        _ kind: String,
        _ options: [String],
        _ display: String,
        _ capturingOutput: Bool
    ) throws -> ChildProcess {
        try ChildProcess(
            sibling("workload"),
            [kind, "--display", display] + options,
            capturingOutput: capturingOutput
        )
    }

    private static func startServer(_ size: PixelSize) throws -> (ChildProcess, String) {
        for number in 70..<80 where !FileManager.default.fileExists(atPath: socket(of: ":\(number)")) {
            let server = try launchServer(":\(number)", size)
            do {
                try wait(for: server, ":\(number)")
                return (server, ":\(number)")
            } catch {
                server.stop()
            }
        }
        throw BenchError("no Xvfb could be started on the displays :70 to :79")
    }

    private static func launchServer(_ display: String, _ size: PixelSize) throws -> ChildProcess {
        try ChildProcess("Xvfb", [display, "-screen", "0", "\(size)x24", "-nolisten", "tcp", "-noreset"])
    }

    private static func wait(for server: ChildProcess, _ display: String) throws {
        let start: Instant = MonotonicClock.now()
        while !FileManager.default.fileExists(atPath: socket(of: display)) {
            guard server.isRunning, secondsSince(start) < 5 else { throw BenchError("no Xvfb on \(display)") }
            sleep(seconds: 0.005)
        }
    }

    private static func socket(of display: String) -> String { "/tmp/.X11-unix/X\(display.dropFirst())" }

    /// Grabs the screen with an independent program at a rate, and gives each grab as BGRX rows without padding.
    func grab(count: Int, rate: Int = 30, _ body: ([UInt8]) -> Void) throws {
        try grab(count, rate, ["-pix_fmt", "bgr0"], bytes: Self.size.width * Self.size.height * 4, body)
    }

    /// The same, scaled by area and converted to I420 by that program.
    func grabScaled(count: Int, rate: Int, to size: PixelSize, _ body: ([UInt8]) -> Void) throws {
        let filter = ["-vf", "scale=\(size.width):\(size.height):flags=area", "-pix_fmt", "yuv420p"]
        try grab(count, rate, filter, bytes: size.width * size.height * 3 / 2, body)
    }

    private func grab(_ count: Int, _ rate: Int, _ format: [String], bytes: Int, _ body: ([UInt8]) -> Void) throws {
        let grabber = try ChildProcess(
            "ffmpeg",
            [
                "-loglevel", "error", "-f", "x11grab", "-framerate", "\(rate)", "-video_size", "\(Self.size)", "-i",
                display, "-frames:v", "\(count)",
            ] + format + ["-f", "rawvideo", "pipe:1"],
            capturingOutput: true
        )
        defer { grabber.stop() }
        let frames = FrameStream(grabber.outputDescriptor, frameBytes: bytes)
        for _ in 0..<count {
            guard let frame = frames.next() else { throw BenchError("ffmpeg could not grab the screen") }
            body(frame)
        }
    }
}
