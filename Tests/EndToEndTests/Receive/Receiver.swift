import Glibc
import Posix
import Synchronization
import TestSupport

/// A program that takes the stream as its session description says, and gives back the pictures it decodes.
final class Receiver: Sendable {
    enum Kind: Sendable {
        case ffmpeg
        /// Version 9, which takes AV1.
        case newerFFmpeg
        case gstreamer
        /// Only a depacketizer and a decoder for VP8: it goes on when the sender comes back as a new source.
        case gstreamerWithoutSession
    }

    /// Rows of 1280x720 without padding.
    enum Format: String {
        case i420 = "I420", rgb = "RGB"

        fileprivate var frameBytes: Int {
            width * height * (self == .i420 ? 3 : 6) / 2
        }

        fileprivate var nameInFFmpeg: String { self == .i420 ? "yuv420p" : "rgb24" }
    }

    static let width = 1280
    static let height = 720

    let kind: Kind
    private let port: UInt16
    private let process: Process
    private let state = Mutex(State())

    private struct State {
        var count = 0
        var last: [UInt8]?
    }

    /// `Subprocess` is used by one thread at a time.
    private struct Process: @unchecked Sendable { let program: Subprocess }

    /// - Parameters:
    ///   - sdp: the description of the sender, whose port is replaced by this one.
    ///   - format: of the pictures, which the program converts as it thinks right.
    ///   - onFrame: gets each picture.
    init(
        _ kind: Kind,
        sdp: String,
        port: UInt16,
        as format: Format = .i420,
        in folder: TemporaryDirectory,
        onFrame: @escaping @Sendable ([UInt8]) -> Void = { _ in }
    ) throws {
        self.kind = kind
        self.port = port
        let path = folder.file("\(kind)-\(port).sdp")
        try FileDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC).write(Self.description(sdp, port: port))
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Unexpected("no pipe") }
        // Only the program gets an end of it, and the stream ends with the program.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let writing = FileDescriptor(taking: ends[1])
        let reading = ends[0]
        process = Process(
            program: try Subprocess(
                kind.command(path, port, format),
                environment: kind.environment,
                passing: writing.raw
            )
        )
        let frames = FrameStream(reading, frameBytes: format.frameBytes)
        _ = try Thread { [self] in
            while let frame = frames.next() {
                onFrame(frame)
                state.withLock {
                    $0.count += 1
                    $0.last = frame
                }
            }
            close(reading)
        }
    }

    var frameCount: Int { state.withLock { $0.count } }
    var lastFrame: [UInt8]? { state.withLock { $0.last } }

    /// The first things that the program had to complain about: decoding, depacketizing, losses.
    var complaints: [String] {
        let lines = process.program.errorOutput.split(separator: "\n").map(String.init)
        return Array(lines.filter { line in kind.harmless.allSatisfy { !line.contains($0) } }.prefix(5))
    }

    /// Whether it got all that was sent to it: a busy machine may leave its socket full.
    var gotAll: Bool { get throws { try Ports.drops(at: port) == 0 } }

    func requireRunning() throws {
        if let exit = process.program.status() {
            throw Unexpected("\(kind) ended with \(exit): \(process.program.errorOutput)")
        }
    }

    func stop() { process.program.stop() }

    private static func description(_ sdp: String, port: UInt16) -> String {
        sdp.split(whereSeparator: \.isNewline).map { line in
            guard line.hasPrefix("m=video ") else { return line + "\r\n" }
            let words = line.split(separator: " ")
            return "m=video \(port) " + words[2...].joined(separator: " ") + "\r\n"
        }.joined()
    }
}

extension Receiver.Kind {
    fileprivate func command(_ sdp: String, _ port: UInt16, _ format: Receiver.Format) -> [String] {
        switch self {
        case .ffmpeg, .newerFFmpeg:
            [
                self == .ffmpeg ? "ffmpeg" : Counterparts.ffmpeg, "-nostdin", "-hide_banner", "-loglevel", "warning",
                // It would wait for 20 frames to guess their rate, which a picture at rest does not have.
                "-protocol_whitelist", "file,udp,rtp", "-buffer_size", "4000000", "-fpsprobesize", "0", "-i", sdp,
                "-fps_mode", "passthrough", "-enc_time_base", "1:90000", "-pix_fmt", format.nameInFFmpeg, "-f",
                "rawvideo",
                "pipe:3",
            ]
        case .gstreamer:
            [
                // Late packets, as a busy machine brings them, are none that are lost.
                "gst-launch-1.0", "-q", "filesrc", "location=\(sdp)", "!", "sdpdemux", "latency=10000", "!",
                "decodebin", "!", "videoconvert", "!", "video/x-raw,format=\(format.rawValue)", "!", "fdsink", "fd=3",
                "sync=false",
            ]
        case .gstreamerWithoutSession:
            [
                "gst-launch-1.0", "-q", "udpsrc", "port=\(port)", "buffer-size=4000000",
                "caps=application/x-rtp,media=video,clock-rate=90000,encoding-name=VP8,payload=96", "!", "rtpvp8depay",
                "!", "vp8dec", "!", "videoconvert", "!", "video/x-raw,format=\(format.rawValue)", "!", "fdsink", "fd=3",
                "sync=false",
            ]
        }
    }

    /// Warnings of all that handles the stream.
    fileprivate var environment: [String: String] {
        self == .ffmpeg || self == .newerFFmpeg
            ? [:] : ["GST_DEBUG": "*rtp*:2,*rtcp*:2,*sdp*:2,*udp*:2,vp*:2,*video*:2", "GST_DEBUG_NO_COLOR": "1"]
    }

    /// Words of messages that do not speak of the stream.
    fileprivate var harmless: [String] {
        switch self {
        case .ffmpeg: ["RTP/VP9 support is still experimental", "attempted to set receive buffer"]
        case .newerFFmpeg: ["attempted to set receive buffer"]
        // Packets that came a second late, as a busy machine brings them.
        case .gstreamer, .gstreamerWithoutSession: ["too big, reset skew"]
        }
    }
}
