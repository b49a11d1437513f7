import Media
import Pixels
import Time
import VideoEncoding

/// Finds the quantizers that a picture needs. It encodes some of the picture's rows with an encoder of its own.
///
/// Smooth text takes four times the bits of a bitmap font, and is 3 dB worse at the same quantizer.
final class ContentProbe {
    struct Need: Equatable {
        /// The coarsest quantizer, 0...63, at which the picture can be read (`readableQuality`).
        var readable: Int
        /// The coarsest quantizer, 0...63, at which the picture is clear (`clearQuality`).
        var clear: Int
        /// Bytes of a macroblock at the quantizer `readable`.
        var bytes: Double
    }

    /// The PSNR of luma at which text can be read, in dB.
    static let readableQuality = 30.6
    /// The PSNR of luma at which text is clear, in dB.
    static let clearQuality = 37.0
    /// How a codec's pictures are sampled.
    private struct Method {
        /// The number of sampled bands of rows, spread over the picture.
        let bands: Int
        let bandHeight: Int
        let mostTrials: Int
        /// About the gain of quality for each finer step of the quantizer, in dB.
        let slope: Double
        /// Whether two trials measure the slope of the picture. Those of AV1 are too few, and too near to each other.
        let measuresSlope: Bool
        let coarsest: Int

        var height: Int { bands * bandHeight }

        init?(_ codec: VideoCodec) {
            switch codec {
            case .vp8:
                (bands, bandHeight, mostTrials) = (4, 32, 3)
                (slope, measuresSlope, coarsest) = (0.45, true, 63)
            case .av1:
                // An encoding takes 25 ms at 1280x720.
                (bands, bandHeight, mostTrials) = (6, 16, 2)
                (slope, measuresSlope, coarsest) = (0.55, false, codec.readableQuantizer)
            case .vp9: return nil
            }
        }
    }

    private let method: Method
    private var encoder: VideoEncoder
    private var sample: NV12Picture
    private var decoded = PlanarPicture()
    private var time = Instant.start
    /// The first quantizer of the next search: successive pages are alike.
    private var guess: Int

    /// Makes a probe for VP8, or for thoroughly encoded keyframes of AV1. Nil for VP9, and for pictures too small to
    /// sample.
    ///
    /// - Parameter size: of pictures, in pixels.
    init?(_ codec: VideoCodec, _ size: PixelSize) {
        guard let method = Method(codec), size.height >= 2 * method.height else { return nil }
        let sampled = PixelSize(width: size.width, height: method.height)
        var configuration = VideoEncoderConfiguration(codec: codec, size: sampled, targetBitrate: 1_000_000)
        configuration.allowsPatches = false
        guard let encoder = try? VideoEncoder(configuration) else { return nil }
        self.encoder = encoder
        self.method = method
        sample = NV12Picture(size: sampled)
        guess = codec.readableQuantizer
    }

    /// The quantizers that a picture needs; nil if the encoder fails.
    func need(of picture: borrowing NV12Picture) -> Need? {
        let height = method.bandHeight
        for band in 0..<method.bands {
            let row = (picture.size.height - height) * band / (method.bands - 1) & ~15
            sample.copy(rows: row..<row + height, of: picture, to: band * height)
        }
        var trials: [(quantizer: Int, bytes: Double, quality: Double)] = []
        var quantizer = guess
        while trials.count < method.mostTrials, !trials.contains(where: { $0.quantizer == quantizer }) {
            guard let trial = measure(quantizer) else { return nil }
            trials.append((quantizer, trial.bytes, trial.quality))
            quantizer = suitable(for: Self.readableQuality, by: trials)
        }
        let readable = suitable(for: Self.readableQuality, by: trials)
        guess = readable
        let nearest = trials.min { abs($0.quantizer - readable) < abs($1.quantizer - readable) }!
        let clear = suitable(for: Self.clearQuality, by: method.measuresSlope ? trials : [nearest])
        return Need(readable: readable, clear: clear, bytes: nearest.bytes)
    }

    /// The quantizer for a quality in dB, by the two nearest trials.
    private func suitable(
        for quality: Double,
        by trials: [(quantizer: Int, bytes: Double, quality: Double)]
    ) -> Int {
        let sorted = trials.sorted { abs($0.quality - quality) < abs($1.quality - quality) }
        var slope = method.slope
        if sorted.count > 1, sorted[0].quantizer != sorted[1].quantizer {
            let measured =
                (sorted[0].quality - sorted[1].quality) / Double(sorted[1].quantizer - sorted[0].quantizer)
            slope = min(max(measured, slope / 2), slope * 3)
        }
        let steps = (sorted[0].quality - quality) / slope
        return min(max(sorted[0].quantizer + Int(steps.rounded(.down)), 0), method.coarsest)
    }

    private func measure(_ quantizer: Int) -> (bytes: Double, quality: Double)? {
        time += .milliseconds(33)
        let size = try? encoder.encode(
            sample,
            presentationTime: time,
            forceKeyframe: true,
            quantizers: quantizer...quantizer,
            isThorough: true
        ) { _, data in data.count }
        guard let size, encoder.copyReference(into: &decoded) else { return nil }
        let blocks = sample.size.width / 16 * (sample.size.height / 16)
        return (Double(size) / Double(blocks), sample.lumaPSNR(of: decoded))
    }
}
