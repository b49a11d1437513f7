import Glibc
import Media
import Pixels
import TestSupport
import Time
import VideoEncoding

/// An encoder for a row of the table.
private struct Variant {
    let name: String
    let codec: VideoCodec
    var vp8Profile = 0
    /// Whether VP8 leaves the golden frame to patches. Here are none.
    var allowsPatches = true
}

private let variants = [
    Variant(name: "vp8", codec: .vp8),
    Variant(name: "vp8, profile 1", codec: .vp8, vp8Profile: 1),
    Variant(name: "vp8, golden", codec: .vp8, allowsPatches: false),
    Variant(name: "vp9", codec: .vp9),
    Variant(name: "av1", codec: .av1),
]

/// CPU time of the encoders on the four workloads, scaled to the size of the stream.
func encodeSections(_ options: RunOptions) -> [Section] {
    let frames = max(30, Int(min(options.seconds, 4) * 30))
    var table = Table(["workload", "codec", "CPU ms per frame", "to VP8", "kb/s", "luma dB"], labels: 2)
    var notes: [String] = []
    for kind in workloads {
        var samples = variants.map { _ in Samples() }
        do {
            let pictures = try recording(of: kind, frames: frames)
            for _ in 0..<options.rounds {
                for (index, variant) in variants.enumerated() {
                    samples[index].record { try encode(pictures, variant) }
                }
            }
        } catch {
            for index in samples.indices { samples[index].record { throw error } }
        }
        for (variant, sample) in zip(variants, samples) {
            guard let time = sample.median(), let rate = sample.median(1), let quality = sample.median(2),
                let vp8 = samples[0].median()
            else {
                table.rows.append([kind, variant.name, "failed", "", "", ""])
                notes.append("\(variant.name), \(kind): \(sample.failureText)")
                continue
            }
            let cells = [time.text(2), (time / vp8).text(2) + " ×", rate.text(0), quality.text(2)]
            table.rows.append([kind, variant.name] + cells)
        }
    }
    return [Section(title: "Encoding, 1280x720 at 2.5 Mb/s", table: table, notes: notes)]
}

private func recording(of kind: String, frames: Int) throws -> [Picture] {
    let stage = try Stage(kind)
    let rescaler = Rescaler(from: Stage.size, to: EncoderSettings.size)
    let source = Picture(size: Stage.size)
    var pictures: [Picture] = []
    try stage.grab(count: frames) { grab in
        source.convert(grab)
        let picture = Picture(size: EncoderSettings.size)
        picture.rescale(source, by: rescaler)
        pictures.append(picture)
    }
    return pictures
}

/// CPU milliseconds per frame, kb/s, and the mean PSNR of luma in dB, without the first half second and its keyframe.
private func encode(_ pictures: [Picture], _ variant: Variant) throws -> [Double] {
    var configuration = VideoEncoderConfiguration(
        codec: variant.codec,
        size: EncoderSettings.size,
        targetBitrate: EncoderSettings.bitrate
    )
    configuration.vp8Profile = variant.vp8Profile
    configuration.allowsPatches = variant.allowsPatches
    var encoder = try VideoEncoder(configuration)
    let warmUp = 15
    var (seconds, bytes, quality) = (0.0, 0, 0.0)
    var reference = PlanarPicture()
    for (index, picture) in pictures.enumerated() {
        let time = Instant.seconds(Double(index + 1) / 30)
        let start = threadSeconds()
        let length = try encoder.encode(picture.nv12, presentationTime: time) { _, data in
            data.withUnsafeBytes(\.count)
        }
        if index < warmUp { continue }
        seconds += threadSeconds() - start
        bytes += length ?? 0
        if encoder.copyReference(into: &reference) { quality += picture.lumaPSNR(of: reference.y) }
    }
    let count = Double(pictures.count - warmUp)
    return [seconds * 1000 / count, Double(bytes) * 8 / 1000 / (count / 30), quality / count]
}

/// CPU time of the calling thread; the encoder has no other.
private func threadSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
