package import Time

/// The description of an encoded frame, which goes with its bytes.
package struct EncodedFrame: Sendable {
    package let rendition: Rendition.ID
    /// Whether it can be decoded without the frames before.
    package let isKeyframe: Bool
    /// Width and height in pixels.
    package let dimensions: (width: UInt16, height: UInt16)
    /// The presentation time. It moves on while the screen stands still.
    package let capturedAt: Instant
    /// When the pixels left the screen: before `capturedAt` if the screen has stood still since. A picture from before
    /// the broadcast's horizon is never sent any more.
    package let captureTime: Instant

    package init(
        rendition: Rendition.ID,
        isKeyframe: Bool,
        dimensions: (width: UInt16, height: UInt16),
        capturedAt: Instant,
        captureTime: Instant
    ) {
        self.rendition = rendition
        self.isKeyframe = isKeyframe
        self.dimensions = dimensions
        self.capturedAt = capturedAt
        self.captureTime = captureTime
    }
}
