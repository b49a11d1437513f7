import Media
import Pixels
import RTP
import Time
import VideoEncoding

/// Pictures whose brightness changes, 15 a second.
final class PictureSource {
    private static let interval = Duration.seconds(1) / 15

    let track: String
    private(set) var nextAt = Instant.start
    var wantsKeyframe = false
    private var encoder: VideoEncoder
    private var picture: NV12Picture
    private var count: UInt8 = 0

    init(_ track: String, _ width: Int, _ height: Int) throws {
        self.track = track
        let size = PixelSize(width: width, height: height)
        encoder = try VideoEncoder(VideoEncoderConfiguration(codec: .vp8, size: size, targetBitrate: 300_000))
        picture = NV12Picture(size: size)
    }

    /// Encodes the next picture, if it is time.
    func draw(into history: PacketHistory, now: Instant) throws {
        guard now >= nextAt else { return }
        nextAt = max(nextAt, now) + Self.interval
        count &+= 1
        picture.fill(luma: 60 + count % 100, chroma: 128)
        let size = picture.size
        let isForced = wantsKeyframe
        wantsKeyframe = false
        _ = try encoder.encode(picture, presentationTime: now, forceKeyframe: isForced) { frame, bytes in
            history.append(
                frame: bytes.withUnsafeBufferPointer { Array($0) },
                isKeyframe: frame.isKeyframe,
                dimensions: (UInt16(size.width), UInt16(size.height)),
                capturedAt: now,
                now: now
            )
        }
    }
}

/// Silence, in packets of Opus of 20 ms.
final class SoundSource {
    private static let interval = Duration.milliseconds(20)
    /// One frame of full band, 20 ms, mono, with nothing to hear (RFC 6716 §3.1).
    private static let silence: [UInt8] = [0xF8, 0xFF, 0xFE]

    private(set) var nextAt: Instant?

    /// Appends the packets whose time has come.
    func hear(into history: PacketHistory, now: Instant) {
        var next = nextAt ?? now
        while next <= now {
            history.append(sound: Self.silence, capturedAt: next, now: now)
            next += Self.interval
        }
        nextAt = next
    }
}
