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
    /// Its place on the ladder: 0 for the receivers whose links carry most, and a step further down for each group of those that
    /// cannot follow. All rungs have one size and one bitrate at the most; links alone make the lower ones smaller.
    package let rung: Int
    /// Pixels, even.
    package let width: Int
    package let height: Int
    /// The most frames a second.
    package let framesPerSecond: Int
    /// The target of rate control, in bits a second.
    package let bitrate: Int

    package init(
        id: ID,
        codec: VideoCodec,
        rung: Int = 0,
        width: Int,
        height: Int,
        framesPerSecond: Int,
        bitrate: Int
    ) {
        self.id = id
        self.codec = codec
        self.rung = rung
        self.width = width
        self.height = height
        self.framesPerSecond = framesPerSecond
        self.bitrate = bitrate
    }

    /// The time from frame to frame.
    package var interval: Duration { .nanoseconds(1_000_000_000 / framesPerSecond) }
}
