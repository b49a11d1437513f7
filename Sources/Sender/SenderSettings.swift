package import Pixels

/// How a sender turns the pictures of a broadcast into a stream.
package struct SenderSettings: Sendable {
    /// Size of the stream's picture: even. Pictures of another shape get black bars.
    package var size: PixelSize
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
        bitrate: Int,
        framesPerSecond: Int,
        wakesEarly: Bool,
        keyframeInterval: UInt64?
    ) {
        self.size = size
        self.bitrate = bitrate
        self.framesPerSecond = framesPerSecond
        self.wakesEarly = wakesEarly
        self.keyframeInterval = keyframeInterval
    }

    /// Nanoseconds from frame to frame.
    var interval: UInt64 { 1_000_000_000 / UInt64(framesPerSecond) }
}
