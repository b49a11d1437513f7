package import Media
package import Pixels

package struct VideoEncoderConfiguration: Sendable {
    package var codec: VideoCodec
    /// Both sides are even, from 2 to 16382 pixels.
    package var size: PixelSize
    /// In bits per second, at least 1000.
    package var targetBitrate: Int
    /// The frame rate that rate control assumes, 1 to 1000. Frames may come at any other rate.
    package var framesPerSecond = 30
    /// The version of VP8's bitstream (RFC 6386 §9.1): 0, which every encoder writes, or 1, which is cheaper.
    package var vp8Profile = 0
    /// Whether VP8 frames may be patched.
    package var allowsPatches = true

    package init(codec: VideoCodec, size: PixelSize, targetBitrate: Int) {
        (self.codec, self.size, self.targetBitrate) = (codec, size, targetBitrate)
    }

    /// Refuses values that no library can work with: libvpx accepts some of them and then divides by zero.
    func validate() throws(VideoEncoderError) {
        guard !size.isEmpty, size.isEven, max(size.width, size.height) <= 16383 else {
            throw .configuration("the size is \(size); both sides must be even, from 2 to 16382")
        }
        try Self.validate(bitrate: targetBitrate)
        guard (1...1000).contains(framesPerSecond) else {
            throw .configuration("the frame rate is \(framesPerSecond); it must be from 1 to 1000")
        }
        guard (0...1).contains(vp8Profile) else {
            throw .configuration("the profile of VP8 is \(vp8Profile); it must be 0 or 1")
        }
    }

    static func validate(bitrate: Int) throws(VideoEncoderError) {
        guard (1000...1_000_000_000).contains(bitrate) else {
            throw .configuration("the bitrate is \(bitrate) b/s; it must be from 1000 to 1000000000")
        }
    }
}
