import FrameBridge
import Glibc
import Media
import Pixels
import Posix
import Sender
import TestSupport
import VideoEncoding

/// Who receives one stream from its beginning, and decodes it.
final class Receiver {
    private var decoder: Decoder
    private let codec: VideoCodec
    /// What it got, for another decoder to be tried on; nil unless it is to be kept.
    private let recording: Recording?
    private(set) var frameCount = 0
    /// Whether the latest frame could not be decoded.
    private(set) var isBroken = false

    init(_ codec: VideoCodec, recording: Recording?) {
        decoder = Decoder(codec)
        self.codec = codec
        self.recording = recording
    }

    var picture: PlanarPicture { decoder.picture }

    /// - Parameter isNewcomer: who knows nothing of the frames before.
    func receive(_ frame: Span<UInt8>, isNewcomer: Bool) {
        if isNewcomer { decoder = Decoder(codec) }
        isBroken = !decoder.decode(frame)
        frameCount += 1
        recording?.append(frame, shown: decoder.picture)
    }

    /// Tries another decoder. Returns what is wrong.
    func compareDecoders() throws -> String? { try recording?.compare() }
}

/// Those who receive in one episode: one for each codec.
final class Call {
    var receivers: [VideoCodec: Receiver] = [:]
    /// Whether those who come with the next keyframe know nothing of the frames before.
    var isForNewcomers = false
}

/// A stream in an IVF file, and what libvpx's or libaom's decoder showed of it, for ffmpeg's own decoders to be tried on.
final class Recording {
    private let folder: TemporaryDirectory
    private let codec: VideoCodec
    private var stream: [UInt8] = []
    private var frameCount: UInt64 = 0
    private var shown: [UInt8] = []

    init(_ codec: VideoCodec, size: PixelSize) throws {
        folder = try TemporaryDirectory()
        self.codec = codec
        let name =
            switch codec {
            case .vp8: "VP80"
            case .vp9: "VP90"
            case .av1: "AV01"
            }
        stream += Array("DKIF".utf8) + [0, 0, 32, 0] + Array(name.utf8)
        put(UInt16(size.width))
        put(UInt16(size.height))
        put(UInt32(30))
        put(UInt32(1))
        put(UInt64(0))
    }

    private func put(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { stream += $0 }
    }

    func append(_ frame: Span<UInt8>, shown picture: PlanarPicture) {
        put(UInt32(frame.count))
        put(frameCount)
        frame.withUnsafeBufferPointer { stream += $0 }
        frameCount += 1
        shown += picture.y + picture.u + picture.v
    }

    func compare() throws -> String? {
        try write(stream, to: folder.file("stream.ivf"))
        let decoder =
            switch codec {
            case .vp8: "vp8"
            case .vp9: "vp9"
            case .av1: "libdav1d"
            }
        try Subprocess.run([
            "ffmpeg", "-v", "error", "-xerror", "-f", "ivf", "-c:v", decoder, "-i", folder.file("stream.ivf"),
            "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "yuv420p", folder.file("shown.yuv"),
        ])
        let file = try FileDescriptor.open(folder.file("shown.yuv"), O_RDONLY)
        var other = [UInt8](repeating: 0, count: Int(try file.status().st_size))
        _ = try other.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        guard other.count == shown.count else {
            return "ffmpeg's \(decoder) shows \(other.count) bytes of pictures, and not \(shown.count)"
        }
        guard let first = other.indices.first(where: { other[$0] != shown[$0] }) else { return nil }
        return "ffmpeg's \(decoder) shows something else in frame \(UInt64(first) / (UInt64(shown.count) / frameCount))"
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        guard let file = fopen(path, "w") else { throw SystemError("fopen \(path)") }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw SystemError("fwrite \(path)") }
    }
}
