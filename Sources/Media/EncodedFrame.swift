package import Time

/// The description of an encoded frame, which goes with its bytes.
package struct EncodedFrame: Sendable {
    package let rendition: Rendition.ID
    /// Whether it can be decoded without the frames before.
    package let isKeyframe: Bool
    /// Width and height in pixels.
    package let dimensions: (width: UInt16, height: UInt16)
    /// The instant that the picture shows.
    package let capturedAt: Instant
    /// When the picture was taken from the screen, which is before `capturedAt` if the screen has stood still since. A picture
    /// that was taken before the broadcast's horizon reaches nobody any more.
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
