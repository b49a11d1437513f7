import Media
import Pixels
import Time
import VideoEncoding

/// Finds which quantizers the picture at hand needs, by encoding a part of its rows with an encoder of its own.
///
/// Smooth text takes four times the bits of a bitmap font, and is 3 dB worse at the same quantizer.
final class ContentProbe {
    /// What a picture needs.
    struct Need: Equatable {
        /// The coarsest quantizers, 0...63, with which it can be read (`readableQuality`) and is clear (`clearQuality`).
        var readable: Int
        var clear: Int
        /// Bytes of a macroblock at the first.
        var bytes: Double
    }

    /// PSNR of luma, in dB.
    static let readableQuality = 30.6
    static let clearQuality = 37.0
    /// By so many dB a picture gets better with each step of the quantizer, about.
    private static let slope = 0.45
    private static let bands = 4
    private static let bandHeight = 32
    /// Encodings for one picture.
    private static let mostTrials = 3

    private let codec: VideoCodec
    private var encoder: VideoEncoder
    private var sample: NV12Picture
    private var decoded = PlanarPicture()
    private var time = Instant.start
    /// Where the next search begins: pages follow each other that are alike.
    private var guess: Int

    /// For VP8 alone: between keyframes, libaom is 4 dB coarser than in one at the same quantizer, so that a sample tells little.
    ///
    /// - Parameter size: of pictures, in pixels; nil for those that are too small to be sampled.
    init?(_ codec: VideoCodec, _ size: PixelSize) {
        guard codec == .vp8, size.height >= 2 * Self.bands * Self.bandHeight else { return nil }
        let sampled = PixelSize(width: size.width, height: Self.bands * Self.bandHeight)
        let configuration = VideoEncoderConfiguration(
            codec: codec,
            size: sampled,
            targetBitrate: 1_000_000,
            allowsPatches: false
        )
        guard let encoder = try? VideoEncoder(configuration) else { return nil }
        self.encoder = encoder
        sample = NV12Picture(size: sampled)
        self.codec = codec
        guess = codec.readableQuantizer
    }

    /// What a picture needs; nil if the encoder fails.
    func need(of picture: borrowing NV12Picture) -> Need? {
        for band in 0..<Self.bands {
            let row = (picture.size.height - Self.bandHeight) * band / (Self.bands - 1) & ~15
            sample.copy(rows: row..<row + Self.bandHeight, of: picture, to: band * Self.bandHeight)
        }
        var trials: [(quantizer: Int, bytes: Double, quality: Double)] = []
        var quantizer = guess
        while trials.count < Self.mostTrials, !trials.contains(where: { $0.quantizer == quantizer }) {
            guard let trial = measure(quantizer) else { return nil }
            trials.append((quantizer, trial.bytes, trial.quality))
            quantizer = Self.quantizer(of: Self.readableQuality, by: trials)
        }
        let readable = Self.quantizer(of: Self.readableQuality, by: trials)
        guess = readable
        let nearest = trials.min { abs($0.quantizer - readable) < abs($1.quantizer - readable) }!
        return Need(readable: readable, clear: Self.quantizer(of: Self.clearQuality, by: trials), bytes: nearest.bytes)
    }

    /// Where a quality is, by the two trials that are nearest.
    private static func quantizer(
        of quality: Double,
        by trials: [(quantizer: Int, bytes: Double, quality: Double)]
    ) -> Int {
        let sorted = trials.sorted { abs($0.quality - quality) < abs($1.quality - quality) }
        var slope = slope
        if sorted.count > 1, sorted[0].quantizer != sorted[1].quantizer {
            let measured =
                (sorted[0].quality - sorted[1].quality) / Double(sorted[1].quantizer - sorted[0].quantizer)
            slope = min(max(measured, slope / 2), slope * 3)
        }
        let steps = (sorted[0].quality - quality) / slope
        return min(max(sorted[0].quantizer + Int(steps.rounded(.down)), 0), 63)
    }

    private func measure(_ quantizer: Int) -> (bytes: Double, quality: Double)? {
        time += .milliseconds(33)
        let size = try? encoder.encode(
            sample,
            presentationTime: time,
            forceKeyframe: true,
            quantizers: quantizer...quantizer
        ) { _, data in data.count }
        guard let size, encoder.copyReference(into: &decoded) else { return nil }
        let blocks = sample.size.width / 16 * (sample.size.height / 16)
        return (Double(size) / Double(blocks), sample.lumaPSNR(of: decoded))
    }
}
