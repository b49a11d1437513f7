import Foundation
import Pixels
import Posix
import Synchronization
import TestSupport
import Time

/// The receiver of every contender: RTP in, decoded pictures out. GStreamer for VP8, ffmpeg for AV1.
final class Receiver: Sendable {
    private let process: ChildProcess
    private let folder: TemporaryFolder
    private let last = Mutex<[UInt8]?>(nil)

    /// - Parameter onFrame: Gets each picture, I420 without padding, and the time at which it was whole.
    init(
        port: UInt16,
        codec: String = "VP8",
        onFrame: @escaping @Sendable ([UInt8], Instant) -> Void = { _, _ in }
    ) throws {
        let folder = try TemporaryFolder()
        let process = try codec == "VP8" ? Self.gstreamer(port) : Self.ffmpeg(port, codec, in: folder)
        let size = EncoderSettings.size
        let stream = FrameStream(process.outputDescriptor, frameBytes: size.width * size.height * 3 / 2)
        self.process = process
        self.folder = folder
        sleep(seconds: 1)
        try process.requireRunning()
        _ = try Thread { [self] in
            while let frame = stream.next() {
                onFrame(frame, MonotonicClock.now())
                last.withLock { $0 = frame }
            }
        }
    }

    private static func ffmpeg(_ port: UInt16, _ codec: String, in folder: TemporaryFolder) throws -> ChildProcess {
        let path = folder.path + "/receiver.sdp"
        let lines = [
            "v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0", "m=video \(port) RTP/AVP 96",
            "a=rtpmap:96 \(codec)/90000",
        ]
        try lines.map { $0 + "\r\n" }.joined().write(toFile: path, atomically: true, encoding: .utf8)
        return try ChildProcess(
            repositoryPath(".build/counterparts/bin/ffmpeg"),
            [
                "-loglevel", "error", "-nostdin", "-flags", "low_delay", "-protocol_whitelist", "file,udp,rtp",
                "-fpsprobesize", "0", "-i",
                path, "-fps_mode",
                "passthrough", "-enc_time_base", "1:90000", "-pix_fmt", "yuv420p", "-f", "rawvideo", "pipe:1",
            ],
            capturingOutput: true
        )
    }

    private static func gstreamer(_ port: UInt16) throws -> ChildProcess {
        let caps = "application/x-rtp,media=video,clock-rate=90000,encoding-name=VP8,payload=96"
        return try ChildProcess(
            "gst-launch-1.0",
            [
                "-q", "udpsrc", "port=\(port)", "buffer-size=4000000", "caps=\(caps)", "!", "rtpvp8depay", "!",
                "vp8dec",
                "!", "video/x-raw,format=I420", "!", "fdsink", "fd=1", "sync=false",
            ],
            capturingOutput: true
        )
    }

    var lastFrame: [UInt8]? { last.withLock { $0 } }

    func stop() { process.stop() }
}
