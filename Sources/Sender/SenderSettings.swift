package import Pixels
package import VideoEncoding

/// How a sender turns the pictures of a broadcast into a stream.
package struct SenderSettings: Sendable {
    /// Size of the stream's picture: even. Pictures of another shape get black bars.
    package var size: PixelSize
    package var codec: VideoCodec
    /// Bits a second.
    package var bitrate: Int
    /// At most this many frames a second.
    package var framesPerSecond: Int
    /// Whether a new frame ends the wait for the next tick.
    package var wakesEarly: Bool
    /// Nanoseconds between keyframes that nobody asked for; nil for none.
    package var keyframeInterval: UInt64?

    package init(
        size: PixelSize,
        codec: VideoCodec,
        bitrate: Int,
        framesPerSecond: Int,
        wakesEarly: Bool,
        keyframeInterval: UInt64?
    ) {
        self.size = size
        self.codec = codec
        self.bitrate = bitrate
        self.framesPerSecond = framesPerSecond
        self.wakesEarly = wakesEarly
        self.keyframeInterval = keyframeInterval
    }
}
