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
    /// The version of VP8's bitstream, 0 or 1.
    package var vp8Profile: Int
    /// Whether VP8 sends small changes as patches.
    package var allowsPatches: Bool
    /// Below how much of its reserve, in percent, rate control drops frames; 0 means never.
    package var dropThreshold: Int

    package init(
        size: PixelSize,
        bitrate: Int,
        framesPerSecond: Int,
        wakesEarly: Bool,
        keyframeInterval: UInt64?,
        vp8Profile: Int = 0,
        allowsPatches: Bool = true,
        dropThreshold: Int = 0
    ) {
        self.size = size
        self.bitrate = bitrate
        self.framesPerSecond = framesPerSecond
        self.wakesEarly = wakesEarly
        self.keyframeInterval = keyframeInterval
        self.vp8Profile = vp8Profile
        self.allowsPatches = allowsPatches
        self.dropThreshold = dropThreshold
    }

    /// Nanoseconds from frame to frame.
    package var interval: UInt64 { 1_000_000_000 / UInt64(framesPerSecond) }
}
