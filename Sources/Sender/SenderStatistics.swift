import Time
import VideoEncoding

/// Totals since the sender began.
package struct SenderStatistics: Sendable {
    /// Frames given to the sinks.
    package internal(set) var framesEncoded = 0
    package internal(set) var keyframes = 0
    /// Keyframes that were sent again instead of encoding the picture.
    package internal(set) var keyframesRepeated = 0
    /// Frames that the encoder dropped to keep the bitrate.
    package internal(set) var framesDropped = 0
    /// Pictures that were not encoded, as packets of earlier ones were still waiting.
    package internal(set) var ticksSkipped = 0
    package internal(set) var encodedBytes = 0
    /// When the last frame was encoded, in any rendition. The next two figures are of that frame. Nil before the first.
    private var lastFrameAt: Instant?
    /// Quantizer of the last frame, 0 (best) to 63.
    package internal(set) var quantizer = 0
    /// The time from the grab to the sinks, of the last frame with a new picture.
    package internal(set) var latency = Duration.zero

    /// Processor time of rescaling, encoding and packetizing.
    package internal(set) var scaleTime = Duration.zero
    package internal(set) var encodeTime = Duration.zero
    package internal(set) var sendTime = Duration.zero
    /// Bytes of NV12 that were rescaled.
    package internal(set) var bytesScaled: UInt64 = 0
    /// Nil while nobody wants the sound.
    package internal(set) var sound: SoundStatistics?

    package init() {}

    /// Adds the figures of another encode.
    mutating func add(_ other: SenderStatistics) {
        framesEncoded += other.framesEncoded
        keyframes += other.keyframes
        keyframesRepeated += other.keyframesRepeated
        framesDropped += other.framesDropped
        ticksSkipped += other.ticksSkipped
        encodedBytes += other.encodedBytes
        scaleTime += other.scaleTime
        encodeTime += other.encodeTime
        sendTime += other.sendTime
        bytesScaled += other.bytesScaled
        if let otherAt = other.lastFrameAt, lastFrameAt.map({ $0 < otherAt }) ?? true {
            (lastFrameAt, quantizer, latency) = (otherAt, other.quantizer, other.latency)
        }
    }

    mutating func note(_ frame: EncodingResult, byteCount: Int, at now: Instant) {
        lastFrameAt = now
        framesEncoded += 1
        keyframes += frame.isKeyframe ? 1 : 0
        encodedBytes += byteCount
        quantizer = frame.quantizer
    }
}
