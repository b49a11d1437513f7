import Foundation
import Posix
import TestSupport
import Time

/// A scene that counts its pictures, and a browser's view of it.
final class CountedScene {
    struct Sight {
        let paintedAt: Double
        /// Milliseconds from paint to decoded; nil if it was not decoded.
        let latency: Double?
    }

    let web: any SharedScreen
    let browser: Browser
    private let painted = Sightings()

    /// - Parameter web: a screen whose workload reports its paints.
    init(of web: any SharedScreen) throws {
        self.web = web
        let (output, painted) = (web.stage.workload.outputDescriptor, painted)
        _ = try Thread { readCounterLines(output, into: painted) }
        browser = try web.viewer()
        let _: Bool? = try browser.evaluateOptional(watchNumbers)
    }

    /// The paints between two instants, in order.
    func sights(from: Instant, to: Instant) throws -> [Sight] {
        let zero = wallClockAtMonotonicZero()
        let decoded = try browser.evaluate("seen", as: [[Double]].self).map { (Int($0[0]), $0[1] - zero) }
        let first = Dictionary(decoded) { earlier, _ in earlier }
        return painted.all.filter { (from..<to).contains($0.value) }.sorted { $0.key < $1.key }.map { value, time in
            let at = Double(time.nanoseconds) / 1e6
            return Sight(paintedAt: at, latency: first[value].map { $0 - at })
        }
    }
}

extension [CountedScene.Sight] {
    var latencies: [Double] { compactMap(\.latency) }

    /// Seconds in which no due picture came for more than half a second.
    fileprivate var frozen: Double {
        let times = compactMap { sight in sight.latency.map { sight.paintedAt + $0 } }.sorted()
        return zip(times.dropFirst(), times).map { $0 - $1 }.filter { $0 > 500 }.reduce(0, +) / 1000
    }
}

func dropSection(_ options: RunOptions) -> Section {
    let codecs = ["auto", "vp8", "av1", chromium]
    var samples = codecs.map { _ in Samples() }
    for _ in 0..<options.rounds {
        for (index, codec) in codecs.enumerated() { samples[index].record { try drop(codec) } }
    }
    let title = "5, 0.5 and 5 Mb/s, RTT 40 ms: motion with a counter at 20 Hz"
    var table = Table(["codec", "in the drop p50 ms", "p95", "shown of 400", "after it shown", "frozen s"])
    for (codec, sample) in zip(codecs, samples) {
        table.rows.append([codec] + (0..<5).map { sample.median($0)?.text($0 == 4 ? 1 : 0) ?? sample.failureText })
    }
    let vp8 = samples[1]
    let bars = zip(codecs, samples).compactMap { codec, sample in
        sample.median(1).map { Chart.Bar(label: codec, value: $0, isOurs: codec != chromium) }
    }
    return Section(
        title: title,
        table: table,
        goals: [
            Goal(
                "\(title): in the drop, p95",
                vp8.median(1),
                atMost: 400,
                unit: "ms",
                digits: 0,
                command: networkCommand
            ),
            Goal("\(title): shown in it", vp8.median(2), atLeast: 300, unit: "", digits: 0, command: networkCommand),
            Goal("\(title): shown after it", vp8.median(3), atLeast: 370, unit: "", digits: 0, command: networkCommand),
            Goal("\(title): frozen", vp8.median(4), atMost: 0.5, unit: "s", digits: 1, command: networkCommand),
        ],
        chart: Chart(title: title, unit: "ms", groups: [("in the drop, p95", bars)])
    )
}

private func drop(_ codec: String) throws -> [Double] {
    let link = Link(rate: 5_000_000, roundTrip: .milliseconds(40))
    let scene = try CountedScene(of: share("film", ["--rate", "20"], by: codec, over: link, capturingOutput: true))
    sleep(seconds: 20)
    try scene.web.wire!.setRate(500_000)
    let dropAt: Instant = MonotonicClock.now()
    sleep(seconds: 20)
    try scene.web.wire!.setRate(5_000_000)
    let endAt: Instant = MonotonicClock.now()
    sleep(seconds: 22)
    let during = try scene.sights(from: dropAt, to: endAt)
    let after = try scene.sights(from: endAt, to: endAt + .seconds(20))
    return [
        during.latencies.median ?? 20_000, during.latencies.percentile(95) ?? 20_000, Double(during.latencies.count),
        Double(after.latencies.count), (during + after).frozen,
    ]
}

/// Links that carry less than a film at its coarsest in full size.
func filmSection(_ options: RunOptions) -> Section {
    filmSection("film", "motion", over: [300_000, 150_000], by: ["vp8", "av1", chromium], options)
}

func filmBesideTextSection(_ options: RunOptions) -> Section {
    filmSection(
        "beside",
        "motion beside a page in DejaVu Sans Mono 15",
        over: [1_000_000],
        by: ["auto", "vp8", chromium],
        options
    )
}

/// - Parameter kind: of the workload.
private func filmSection(
    _ kind: String,
    _ name: String,
    over rates: [Int],
    by codecs: [String],
    _ options: RunOptions
) -> Section {
    var table = Table(["link kb/s", "codec", "p50 ms", "p95", "shown of 400", "width"])
    var shown: [String: Double] = [:]
    for rate in rates {
        for codec in codecs {
            var samples = Samples()
            for _ in 0..<options.rounds { samples.record { try film(kind, codec, over: rate) } }
            table.rows.append(
                ["\(rate / 1000)", codec]
                    + (0..<4).map { samples.median($0)?.text(0) ?? samples.failureText }
            )
            shown["\(codec) \(rate)"] = samples.median(2)
        }
    }
    let links = rates.map { "\($0 / 1000)" }.joined(separator: " and ")
    return Section(
        title: "\(links) kb/s, RTT 50 ms: \(name) with a counter at 20 Hz",
        table: table,
        goals: rates.map { rate in
            Goal(
                "\(name) over \(rate / 1000) kb/s: shown, beside Chromium's",
                shown["vp8 \(rate)"].flatMap { ours in shown["\(chromium) \(rate)"].map { ours / $0 } },
                atLeast: 1,
                unit: "times",
                command: networkCommand
            )
        }
    )
}

private func film(_ kind: String, _ codec: String, over rate: Int) throws -> [Double] {
    let link = Link(rate: Double(rate), roundTrip: .milliseconds(50))
    let scene = try CountedScene(of: share(kind, ["--rate", "20"], by: codec, over: link, capturingOutput: true))
    sleep(seconds: 15)
    let from: Instant = MonotonicClock.now()
    sleep(seconds: 20)
    let sights = try scene.sights(from: from, to: from + .seconds(20))
    let width = try scene.browser.evaluate("document.querySelector('video').videoWidth", as: Double.self)
    return [
        sights.latencies.median ?? 20_000, sights.latencies.percentile(95) ?? 20_000, Double(sights.latencies.count),
        width,
    ]
}

func lossySection(_ options: RunOptions) -> Section {
    lossySection("scrolling", "text that scrolls", options)
}

func smoothScrollingSection(_ options: RunOptions) -> Section {
    lossySection("terminal", "a terminal in DejaVu Sans Mono 15 that scrolls", options)
}

/// - Parameter kind: of the workload.
private func lossySection(_ kind: String, _ name: String, _ options: RunOptions) -> Section {
    let codecs = ["auto", "vp8", "av1", chromium]
    var samples = codecs.map { _ in Samples() }
    for _ in 0..<options.rounds {
        for (index, codec) in codecs.enumerated() { samples[index].record { try scroll(kind, codec) } }
    }
    let title = "1 Mb/s, RTT 40 ms, 3 % loss: \(name)"
    var table = Table(["codec", "fps", "frozen s of 30", "luma PSNR dB", "keyframes"])
    for (codec, sample) in zip(codecs, samples) {
        table.rows.append([codec] + (0..<4).map { sample.median($0)?.text($0 == 3 ? 0 : 1) ?? sample.failureText })
    }
    return Section(
        title: title,
        table: table,
        goals: [
            Goal("\(title): fps", samples[1].median(0), atLeast: 27, unit: "fps", digits: 1, command: networkCommand),
            Goal("\(title): frozen", samples[1].median(1), atMost: 0.5, unit: "s", digits: 1, command: networkCommand),
            Goal(
                "\(title): luma PSNR beside Chromium's",
                samples[1].median(2).flatMap { ours in samples[3].median(2).map { ours - $0 } },
                atLeast: 0,
                unit: "dB",
                digits: 1,
                command: networkCommand
            ),
        ]
    )
}

private func scroll(_ kind: String, _ codec: String) throws -> [Double] {
    let link = Link(rate: 1_000_000, roundTrip: .milliseconds(40), loss: 0.03)
    let web = try share(kind, by: codec, over: link)
    let browser = try web.viewer()
    let _: Bool? = try browser.evaluateOptional(watchFrames("seen.push(at);"))
    sleep(seconds: 5)
    let begin = try browser.evaluate("performance.timeOrigin + performance.now()", as: Double.self)
    let keyframes = "(async () => (await oriel.stats()).keyFramesDecoded ?? 0)()"
    let before = try browser.evaluate(keyframes, as: Double.self)
    sleep(seconds: 30)
    let times = try browser.evaluate("seen", as: [Double].self).filter { $0 > begin && $0 < begin + 30_000 }
    let ends = [begin] + times + [begin + 30_000]
    let gaps = zip(ends.dropFirst(), ends).map { $0 - $1 }
    let after = try browser.evaluate(keyframes, as: Double.self)
    return [
        Double(times.count) / 30, gaps.filter { $0 > 200 }.reduce(0, +) / 1000, try qualityOfMotion(web, browser),
        after - before,
    ]
}

/// The median luma PSNR of a browser's picture in a second. A frame is compared with the nearest of 60 screen pictures
/// a second.
private func qualityOfMotion(_ web: any SharedScreen, _ browser: Browser) throws -> Double {
    let _: Bool? = try browser.evaluateOptional(watchLuma)
    sleep(seconds: 0.5)
    let start = try browser.evaluate("performance.timeOrigin + performance.now()", as: Double.self)
    var pictures: [Picture] = []
    try web.stage.grabScaled(count: 75, rate: 60, to: EncoderSettings.size) { luma in
        let picture = Picture(size: EncoderSettings.size)
        picture.takeLuma(luma)
        pictures.append(picture)
    }
    sleep(seconds: 0.5)
    let frames = try browser.evaluate(takeFrames(since: start + 400, for: 700), as: [LumaFrame].self)
    let qualities = frames.map { frame in
        pictures.map { $0.lumaPSNR(ofEveryFourthRow: Array(frame.luma)) }.max() ?? 0
    }
    return qualities.median ?? 0
}

func typingSection(_ options: RunOptions) -> Section {
    var samples = Samples()
    for _ in 0..<options.rounds {
        samples.record {
            let link = Link(rate: 2_000_000, roundTrip: .milliseconds(40), loss: 0.02, burst: 10)
            let scene = try CountedScene(
                of: share("counter", ["--rate", "7"], by: "vp8", over: link, capturingOutput: true)
            )
            sleep(seconds: 5)
            let from: Instant = MonotonicClock.now()
            sleep(seconds: 30)
            let to: Instant = MonotonicClock.now()
            sleep(seconds: 1)
            let sights = try scene.sights(from: from, to: to)
            let keyframes = try scene.browser.evaluate(
                "(async () => (await oriel.stats()).keyFramesDecoded ?? 0)()",
                as: Double.self
            )
            // A letter that was not decoded by itself was there with the next one.
            var (latencies, next): ([Double], Double) = ([], .infinity)
            for sight in sights.reversed() {
                next = min(next, sight.latency.map { sight.paintedAt + $0 } ?? next)
                latencies.append(next - sight.paintedAt)
            }
            return [latencies.median ?? 0, latencies.percentile(95) ?? 0, keyframes]
        }
    }
    let title = "2 Mb/s, RTT 40 ms, bursts of 10 lost packets: typing"
    var table = Table(["", "p50 ms", "p95", "keyframes"])
    table.rows.append(["vp8"] + (0..<3).map { samples.median($0)?.text(0) ?? samples.failureText })
    return Section(
        title: title,
        table: table,
        goals: [
            Goal(
                "\(title): a letter, p95",
                samples.median(1),
                atMost: 150,
                unit: "ms",
                digits: 0,
                command: networkCommand
            )
        ]
    )
}
