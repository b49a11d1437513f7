/// One encode of the broadcast's picture. It is identified by its ID, never by its codec: there may be two renditions
/// of one codec.
package struct Rendition: Sendable, Equatable, Identifiable {
    /// Identifies a rendition within one sender.
    package struct ID: Hashable, Sendable {
        package let number: Int

        package init(_ number: Int) { self.number = number }
    }

    package let id: ID
    package let codec: VideoCodec
    /// Its place on the ladder: 0 for the receivers whose links carry most, and one more for each group that cannot
    /// follow. All rungs have the same size and the same highest bitrate. Only links make the lower ones smaller.
    package let rung: Int
    /// Pixels, even.
    package let width: Int
    package let height: Int
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

    package var interval: Duration { .nanoseconds(1_000_000_000 / framesPerSecond) }
}
