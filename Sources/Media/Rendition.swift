/// One encode of the broadcast's picture. It is known by its identity, never by its codec: two renditions of one codec
/// may run beside each other.
package struct Rendition: Sendable, Equatable, Identifiable {
    /// Names a rendition within one sender.
    package struct ID: Hashable, Sendable {
        package let number: Int

        package init(_ number: Int) { self.number = number }
    }

    package let id: ID
    package let codec: VideoCodec
    /// Pixels, even.
    package let width: Int
    package let height: Int
    /// The most frames a second.
    package let framesPerSecond: Int
    /// The target of rate control, in bits a second.
    package let bitrate: Int

    package init(id: ID, codec: VideoCodec, width: Int, height: Int, framesPerSecond: Int, bitrate: Int) {
        self.id = id
        self.codec = codec
        self.width = width
        self.height = height
        self.framesPerSecond = framesPerSecond
        self.bitrate = bitrate
    }

    /// The time from frame to frame.
    package var interval: Duration { .nanoseconds(1_000_000_000 / framesPerSecond) }
}
