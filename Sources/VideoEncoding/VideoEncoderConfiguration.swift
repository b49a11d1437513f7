package import Pixels

/// What a `VideoEncoder` is asked for.
package struct VideoEncoderConfiguration: Sendable {
    package var codec: VideoCodec
    /// Even, no side longer than 16383.
    package var size: PixelSize
    /// In bits per second, at least 1000.
    package var targetBitrate: Int
    /// What rate control plans with. Frames may come at any other pace.
    package var framesPerSecond: Int
    /// More than one costs more in all than it saves in time.
    package var threads: Int
    /// Below how much of its reserve, in percent, rate control drops frames; 0 means never.
    package var dropThreshold: Int

    package init(
        codec: VideoCodec,
        size: PixelSize,
        targetBitrate: Int,
        framesPerSecond: Int = 30,
        threads: Int = 1,
        dropThreshold: Int = 0
    ) {
        self.codec = codec
        self.size = size
        self.targetBitrate = targetBitrate
        self.framesPerSecond = framesPerSecond
        self.threads = threads
        self.dropThreshold = dropThreshold
    }

    /// libvpx itself lets some of these through and then divides by zero.
    func validate() throws(VideoEncoderError) {
        guard !size.isEmpty, size.isEven, max(size.width, size.height) <= 16383 else {
            throw .configuration("the size is \(size); both sides must be even, from 2 to 16382")
        }
        try Self.validate(bitrate: targetBitrate)
        guard (1...1000).contains(framesPerSecond) else {
            throw .configuration("the frame rate is \(framesPerSecond); it must be from 1 to 1000")
        }
        guard (1...64).contains(threads) else {
            throw .configuration("the number of threads is \(threads); it must be from 1 to 64")
        }
        guard (0...100).contains(dropThreshold) else {
            throw .configuration("the drop threshold is \(dropThreshold) %; it must be from 0 to 100")
        }
    }

    static func validate(bitrate: Int) throws(VideoEncoderError) {
        guard (1000...1_000_000_000).contains(bitrate) else {
            throw .configuration("the bitrate is \(bitrate) b/s; it must be from 1000 to 1000000000")
        }
    }
}
