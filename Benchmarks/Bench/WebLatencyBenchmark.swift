import Foundation
import Glibc
import Posix
import TestSupport

/// Reads each decoded frame's number in the page, and when it was decoded.
private let watchNumbers = watchFrames(
    """
    let number = 0;
    for (let bit = 0; bit < 32; ++bit) number = number * 2 + (bytes[8 * stride + bit * 16 + 8] > 128 ? 1 : 0);
    seen.push([number, at]);
    """
)

func webLatencySection(_ options: RunOptions) -> Section {
    let codecs = ["vp8", "vp9"]
    var samples = codecs.map { _ in Samples() }
    for _ in 0..<options.rounds {
        for (index, codec) in codecs.enumerated() {
            samples[index].record { try webLatency(codec, seconds: options.seconds) }
        }
    }
    var table = Table(["codec", "p50 ms", "p95 ms"])
    for (codec, sample) in zip(codecs, samples) {
        table.rows.append([codec, sample.median(0)?.text(1) ?? sample.failureText, sample.median(1)?.text(1) ?? ""])
    }
    return Section(
        title: "Latency, paint to decoded in Chromium, small change at 7 Hz",
        table: table,
        goals: [
            Goal(
                "paint to decoded in Chromium, p50",
                samples[0].median(0),
                atMost: 25,
                unit: "ms",
                digits: 1,
                command: webCommand
            ),
            Goal(
                "paint to decoded in Chromium, p95",
                samples[0].median(1),
                atMost: 45,
                unit: "ms",
                digits: 1,
                command: webCommand
            ),
        ],
        notes: ["Decoded is when a MediaStreamTrackProcessor gets the frame."]
    )
}

private func webLatency(_ codec: String, seconds: Double) throws -> [Double] {
    let web = try WebStage("counter", codec: codec, capturingOutput: true)
    let painted = Sightings()
    let output = web.stage.workload.outputDescriptor
    _ = try Thread { readCounterLines(output, into: painted) }
    let browser = try web.viewer()
    let _: Bool? = try browser.evaluateOptional(watchNumbers)
    sleep(seconds: 2)
    let from = MonotonicClock.now()
    sleep(seconds: seconds)
    let to = MonotonicClock.now()
    sleep(seconds: 0.5)
    let zero = wallClockAtMonotonicZero()
    var seen: [Int: Double] = [:]
    for pair in try browser.evaluate("seen", as: [[Double]].self) where seen[Int(pair[0])] == nil {
        seen[Int(pair[0])] = pair[1] - zero
    }
    let window = painted.all.filter { (from..<to).contains($0.value) }
    let latencies = window.compactMap { value, time in seen[value].map { $0 - Double(time) / 1e6 } }
    guard latencies.count * 10 >= window.count * 9, let middle = latencies.median else {
        throw BenchError("only \(latencies.count) of \(window.count) values arrived")
    }
    return [middle, latencies.percentile(95)!]
}
