import Media
import Pixels
import Sender
import TestSupport
import Time
import VideoEncoding

/// What an episode is like.
struct EpisodePlan: CustomStringConvertible {
    /// Of the stream's picture.
    var size: PixelSize
    /// Bits a second.
    var bitrate: Int
    var framesPerSecond: Int
    var settings: SenderSettings
    /// The sizes of the screen, one after the other.
    var sources: [PixelSize]
    /// Those that are in use, now and then.
    var codecs: [VideoCodec]
    /// How often the sender looks, for each source.
    var ticks: Int
    /// Whether ffmpeg decodes it too.
    var isRecorded: Bool

    init(_ random: inout SplitMix, largest: Int, recordedShare: Int) {
        let size = Self.size(&random, largest: largest)
        self.size = size
        let pixels = size.width * size.height
        let isLarge = pixels > 320 * 240
        codecs =
            switch Int.random(in: 0..<24, using: &random) {
            case 0..<2: [.vp9]
            case 2: isLarge ? [.vp9] : [.av1]
            case 3: isLarge ? [.vp8, .vp9] : [.vp8, .av1]
            default: [.vp8]
            }
        bitrate = min(max(pixels * .random(in: 1...8, using: &random), 30_000), 20_000_000)
        framesPerSecond = [10, 30, 30, 60].randomElement(using: &random)!
        settings = SenderSettings(
            wakesEarly: true,
            keyframeInterval: random.next() & 3 == 0
                ? .nanoseconds(Int.random(in: 500_000_000...5_000_000_000, using: &random)) : nil
        )
        settings.vp8Profile = Int(random.next() & 1)
        settings.allowsPatches = random.next() & 15 > 0
        sources = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            // Mostly as large as the stream's picture: then nothing is scaled, and all that moves moves by whole rows.
            if random.next() & 3 > 0 { return size }
            return Self.size(&random, largest: min(largest, 4 * pixels))
        }
        ticks = min(max(12_000_000 / pixels, 4), 150)
        isRecorded = Int.random(in: 0..<recordedShare, using: &random) == 0 && pixels <= 320 * 240
    }

    /// Mostly small ones; 16 to 4096 pixels a side.
    private static func size(_ random: inout SplitMix, largest: Int) -> PixelSize {
        while true {
            let most =
                switch Int.random(in: 0..<1000, using: &random) {
                case 0..<800: 200
                case 800..<970: 500
                case 970..<998: 1300
                default: 4096
                }
            let size = PixelSize(
                width: .random(in: 8...most / 2, using: &random) * 2,
                height: .random(in: 8...most / 2, using: &random) * 2
            )
            // Long ones, for what moves far.
            let long = random.next() & 7 == 0 ? PixelSize(width: min(size.width, 64), height: size.height * 4) : size
            if long.width * long.height <= largest, long.height <= 4096 { return long }
        }
    }

    func rendition(_ codec: VideoCodec) -> Rendition {
        Rendition(
            id: Rendition.ID(VideoCodec.allCases.firstIndex(of: codec)!),
            codec: codec,
            width: size.width,
            height: size.height,
            framesPerSecond: framesPerSecond,
            bitrate: bitrate
        )
    }

    var description: String {
        """
        \(size) at \(bitrate) b/s, \(framesPerSecond) a second, \
        profile \(settings.vp8Profile), patches \(settings.allowsPatches), keyframes \(settings.keyframeInterval ?? .zero), \
        \(codecs.map(\.rawValue)), screens \(sources.map(\.description)), \(ticks) ticks
        """
    }
}
