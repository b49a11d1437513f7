import Foundation
import Glibc
import Posix
import TestSupport
import Time

/// Reads each decoded frame's number in the page, and its time.
let watchNumbers = watchFrames(
    """
    let number = 0;
    const place = middle => Math.floor(middle * scale);
    for (let bit = 0; bit < 32; ++bit) number = number * 2 + (bytes[place(8) * stride + place(bit * 16 + 8)] > 128 ? 1 : 0);
    seen.push([number, at]);
    """
)

/// Reads the number of each frame that the page shows, and the time of the callback.
private let watchShownNumbers = """
    (() => {
        const video = document.getElementById('video');
        const canvas = new OffscreenCanvas(512, 1).getContext('2d', {willReadFrequently: true});
        window.shown = [];
        const onFrame = () => {
            const at = performance.timeOrigin + performance.now();
            canvas.drawImage(video, 0, 8, 512, 1, 0, 0, 512, 1);
            const pixels = canvas.getImageData(0, 0, 512, 1).data;
            let number = 0;
            for (let bit = 0; bit < 32; ++bit) number = number * 2 + (pixels[4 * (bit * 16 + 8)] > 128 ? 1 : 0);
            shown.push([number, at]);
            video.requestVideoFrameCallback(onFrame);
        };
        video.requestVideoFrameCallback(onFrame);
    })()
    """

func webLatencySection(_ options: RunOptions) -> Section {
    let codecs = ["vp8", "vp9", "av1"]
    var samples = codecs.map { _ in Samples() }
    for _ in 0..<options.rounds {
        for (index, codec) in codecs.enumerated() {
            samples[index].record { try webLatency(codec, seconds: options.seconds) }
        }
    }
    var table = Table(["codec", "decoded, p50 ms", "p95", "shown, p50 ms", "p95"])
    for (codec, sample) in zip(codecs, samples) {
        table.rows.append(
            [codec, sample.median(0)?.text(1) ?? sample.failureText]
                + (1..<4).map { sample.median($0)?.text(1) ?? "" }
        )
    }
    return Section(
        title: "Latency, paint to decoded and to shown in Chromium, small change at 7 Hz",
        table: table,
        goals: [
            Goal(
                "paint to shown in Chromium, p50",
                samples[0].median(2),
                atMost: 25,
                unit: "ms",
                digits: 1,
                command: webCommand
            ),
            Goal(
                "paint to shown in Chromium, p95",
                samples[0].median(3),
                atMost: 45,
                unit: "ms",
                digits: 1,
                command: webCommand
            ),
        ],
        notes: [
            "Decoded is when a MediaStreamTrackProcessor gets the frame, shown when requestVideoFrameCallback tells of it."
        ]
    )
}

private func webLatency(_ codec: String, seconds: Double) throws -> [Double] {
    let web = try WebStage("counter", codec: codec, capturingOutput: true)
    return try pictureLatency(from: web, in: try web.viewer(), seconds: seconds)
}

/// The times until a counter's numbers are decoded, and shown: the medians and 95th percentiles of both, in
/// milliseconds.
///
/// - Parameter web: captures the output of its workload.
func pictureLatency(from web: WebStage, in browser: Browser, seconds: Double) throws -> [Double] {
    let painted = Sightings()
    let output = web.stage.workload.outputDescriptor
    _ = try Thread { readCounterLines(output, into: painted) }
    for script in [watchNumbers, watchShownNumbers] { let _: Bool? = try browser.evaluateOptional(script) }
    sleep(seconds: 2)
    let from: Instant = MonotonicClock.now()
    sleep(seconds: seconds)
    let to: Instant = MonotonicClock.now()
    sleep(seconds: 0.5)
    let zero = wallClockAtMonotonicZero()
    let window = painted.all.filter { (from..<to).contains($0.value) }
    return try ["seen", "shown"].flatMap { list in
        // The first sight of each number counts.
        let sights = try browser.evaluate(list, as: [[Double]].self).map { (Int($0[0]), $0[1] - zero) }
        let first = Dictionary(sights) { earlier, _ in earlier }
        let latencies = window.compactMap { value, time in first[value].map { $0 - Double(time.nanoseconds) / 1e6 } }
        guard latencies.count * 10 >= window.count * 9, let middle = latencies.median else {
            throw BenchError("only \(latencies.count) of \(window.count) values were \(list)")
        }
        return [middle, latencies.percentile(95)!]
    }
}
