import Pixels
import Posix
import Synchronization
import TestSupport

/// GStreamer as the receiver of every contender: RTP in, decoded pictures out.
final class Receiver: Sendable {
    private let process: ChildProcess
    private let last = Mutex<[UInt8]?>(nil)

    /// - Parameter onFrame: Gets each picture, I420 without padding, and the time at which it was whole.
    init(port: UInt16, onFrame: @escaping @Sendable ([UInt8], UInt64) -> Void = { _, _ in }) throws {
        let caps = "application/x-rtp,media=video,clock-rate=90000,encoding-name=VP8,payload=96"
        let process = try ChildProcess(
            "gst-launch-1.0",
            [
                "-q", "udpsrc", "port=\(port)", "buffer-size=4000000", "caps=\(caps)", "!", "rtpvp8depay", "!",
                "vp8dec",
                "!", "video/x-raw,format=I420", "!", "fdsink", "fd=1", "sync=false",
            ],
            capturingOutput: true
        )
        let size = EncoderSettings.size
        let stream = FrameStream(process.outputDescriptor, frameBytes: size.width * size.height * 3 / 2)
        self.process = process
        sleep(seconds: 1)
        try process.requireRunning()
        _ = try Thread { [self] in
            while let frame = stream.next() {
                onFrame(frame, MonotonicClock.now())
                last.withLock { $0 = frame }
            }
        }
    }

    var lastFrame: [UInt8]? { last.withLock { $0 } }

    func stop() { process.stop() }
}
