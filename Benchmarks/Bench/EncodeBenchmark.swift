import Glibc
import Pixels
import VideoEncoding

/// CPU time of the encoders on what the four workloads show, scaled to the size of the stream.
func encodeSections(_ options: RunOptions) -> [Section] {
    let frames = max(30, Int(min(options.seconds, 4) * 30))
    var table = Table(["workload", "codec", "CPU ms per frame", "to VP8", "kb/s"], labels: 2)
    var notes: [String] = []
    for kind in workloads {
        var samples = VideoCodec.allCases.map { _ in Samples() }
        do {
            let pictures = try recording(of: kind, frames: frames)
            for _ in 0..<options.rounds {
                for (index, codec) in VideoCodec.allCases.enumerated() {
                    samples[index].record { try encode(pictures, codec) }
                }
            }
        } catch {
            for index in samples.indices { samples[index].record { throw error } }
        }
        for (codec, sample) in zip(VideoCodec.allCases, samples) {
            guard let time = sample.median(), let rate = sample.median(1), let vp8 = samples[0].median() else {
                table.rows.append([kind, codec.rawValue, "failed", "", ""])
                notes.append("\(codec.rawValue), \(kind): \(sample.failureText)")
                continue
            }
            table.rows.append([kind, codec.rawValue, time.text(2), (time / vp8).text(2) + " ×", rate.text(0)])
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

/// CPU milliseconds per frame, and kb/s. The first half second, with the keyframe, is left out.
private func encode(_ pictures: [Picture], _ codec: VideoCodec) throws -> [Double] {
    var encoder = try VideoEncoder(
        VideoEncoderConfiguration(
            codec: codec,
            size: EncoderSettings.size,
            targetBitrate: EncoderSettings.bitrate
        )
    )
    let warmUp = 15
    var start = 0.0
    var bytes = 0
    for (index, picture) in pictures.enumerated() {
        if index == warmUp {
            start = threadSeconds()
            bytes = 0
        }
        let time = UInt64(index + 1) * 1_000_000_000 / 30
        let length = try encoder.encode(picture.nv12, presentationTime: time) { _, data in
            data.withUnsafeBytes(\.count)
        }
        bytes += length ?? 0
    }
    let count = Double(pictures.count - warmUp)
    return [(threadSeconds() - start) * 1000 / count, Double(bytes) * 8 / 1000 / (count / 30)]
}

/// CPU time of the calling thread; the encoder has no other.
private func threadSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
