import Foundation
import Glibc
import Pixels
import Posix
import TestSupport

let webCommand = "tools/bench web"

/// Everything about the way from the screen to browsers.
func webSections(_ options: RunOptions) -> [Section] {
    [
        loadSection(options), lateSection(options), webLatencySection(options), motionSection(options),
        sharpSection(options), viewersSection(options), idleSection(options),
    ]
}

// MARK: - Page load

/// How soon a picture is there for whoever opens the page while the screen stands still.
private func loadSection(_ options: RunOptions) -> Section {
    let kinds = Browser.Kind.allCases
    var samples = kinds.map { _ in Samples() }
    for (index, kind) in kinds.enumerated() { samples[index].record { try loads(kind, count: 4 * options.rounds) } }
    var table = Table(["browser", "p50 ms", "p95 ms"])
    var goals: [Goal] = []
    for (kind, sample) in zip(kinds, samples) {
        table.rows.append([
            kind.rawValue, (sample.median(0)?.text(0) ?? sample.failureText), sample.median(1)?.text(0) ?? "",
        ])
        goals.append(
            Goal(
                "page load to first frame, p95, \(kind.rawValue)",
                sample.median(1),
                atMost: 1000,
                unit: "ms",
                digits: 0,
                command: webCommand
            )
        )
    }
    return Section(
        title: "Page load to first decoded frame, still screen",
        table: table,
        goals: goals,
        notes: ["From the start of the navigation, by the browser's own clock; the browser runs already."]
    )
}

private func loads(_ kind: Browser.Kind, count: Int) throws -> [Double] {
    let web = try WebStage("still")
    let browser = try web.browser(kind)
    var times: [Double] = []
    for _ in 0...count {
        try browser.open("about:blank")
        try browser.open(web.page)
        try wait(until: "the page is live") { try browser.evaluate("oriel.state", as: String.self) == "live" }
        times.append(try browser.evaluate("oriel.firstFrameAt", as: Double.self))
    }
    times.removeFirst()  // the browser's first connection of all
    return [times.median!, times.percentile(95)!]
}

// MARK: - Latency

/// Reads each decoded frame's number in the page, and when it was decoded.
private let watchNumbers = """
    (() => {
        const track = oriel.pc.getReceivers()[0].track.clone();
        const reader = new MediaStreamTrackProcessor({track}).readable.getReader();
        window.seen = [];
        (async () => {
            for (;;) {
                const {value: frame, done} = await reader.read();
                if (done) return;
                const at = performance.timeOrigin + performance.now();
                const bytes = new Uint8Array(frame.allocationSize());
                const [{stride}] = await frame.copyTo(bytes);
                frame.close();
                let number = 0;
                for (let bit = 0; bit < 32; ++bit) number = number * 2 + (bytes[8 * stride + bit * 16 + 8] > 128 ? 1 : 0);
                seen.push([number, at]);
            }
        })();
    })()
    """

private func webLatencySection(_ options: RunOptions) -> Section {
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

// MARK: - Late viewers

/// How soon a screen of text that stands still can be read by whoever comes later.
private func lateSection(_ options: RunOptions) -> Section {
    let codecs = ["vp8", "vp9"]
    var samples = codecs.map { _ in Samples() }
    for (index, codec) in codecs.enumerated() { samples[index].record { try late(codec, count: 2 * options.rounds) } }
    var table = Table(["codec", "≥ 38 dB after ms, p50", "p95"])
    for (codec, sample) in zip(codecs, samples) {
        table.rows.append([codec, sample.median(0)?.text(0) ?? sample.failureText, sample.median(1)?.text(0) ?? ""])
    }
    return Section(
        title: "A late viewer of a still page of text",
        table: table,
        goals: [
            Goal(
                "late viewer of a still screen, ≥ 38 dB luma, p95",
                samples[0].median(1),
                atMost: 500,
                unit: "ms",
                digits: 0,
                command: webCommand
            )
        ],
        notes: ["From joining in Chromium, page there already, while another viewer looks on."]
    )
}

private func late(_ codec: String, count: Int) throws -> [Double] {
    let web = try WebStage("pages", rate: 0.001, codec: codec)
    let source = Picture(size: Stage.size)
    try web.stage.grab(count: 1) { source.convert($0) }
    let wanted = Picture(size: EncoderSettings.size)
    wanted.rescale(source, by: Rescaler(from: Stage.size, to: EncoderSettings.size))
    let first = try web.viewer()
    let second = try web.viewer()
    var times: [Double] = []
    for _ in 0..<count {
        sleep(seconds: 1.5)
        let frames = try second.evaluate(joinAgain, as: [LumaFrame].self)
        let sharp = frames.first { wanted.lumaPSNR(ofEveryFourthRow: Array($0.luma)) >= 38 }
        times.append(sharp?.at ?? 1500)
    }
    guard try first.evaluate("oriel.state", as: String.self) == "live" else {
        throw BenchError("the first viewer is gone")
    }
    return [times.median!, times.percentile(95)!]
}

/// Leaves and joins again, and gives every fourth row of the luma of what the page shows from its first frame on, with
/// the milliseconds since it joined: a screen at rest brings too few frames to wait for them.
private let joinAgain = """
    (async () => {
        const until = async condition => { while (!condition()) await new Promise(done => setTimeout(done, 5)); };
        const video = document.querySelector('video');
        const canvas = new OffscreenCanvas(1280, 720);
        const context = canvas.getContext('2d', {willReadFrequently: true});
        location.hash = '';
        await until(() => oriel.state === 'denied');
        const joined = performance.now();
        location.hash = '\(WebStage.token)';
        await until(() => oriel.state === 'live' && oriel.firstFrameAt > joined);
        const pictures = [];
        while (performance.now() < joined + 1000) {
            const at = performance.now() - joined;
            context.drawImage(video, 0, 0, 1280, 720);
            pictures.push([at, context.getImageData(0, 0, 1280, 720).data]);
            await new Promise(done => setTimeout(done, 40));
        }
        return pictures.slice(0, 12).map(([at, data]) => {
            let text = '';
            for (let i = 0; i < 1280 * 180; ++i) {
                const p = (Math.floor(i / 1280) * 4 * 1280 + i % 1280) * 4;
                text += String.fromCharCode(
                    16.5 + 219 / 255 * (0.2126 * data[p] + 0.7152 * data[p + 1] + 0.0722 * data[p + 2]));
            }
            return {at, luma: btoa(text)};
        });
    })()
    """

private struct LumaFrame: Decodable {
    let at: Double
    let luma: Data
}

// MARK: - Motion

private func motionSection(_ options: RunOptions) -> Section {
    var sample = Samples()
    for _ in 0..<options.rounds { sample.record { try motion(seconds: options.seconds) } }
    var table = Table(["full-screen motion at 30 fps", "fps received", "freezes", "dropped"])
    table.rows.append([
        "chromium", sample.median(0)?.text(2) ?? sample.failureText, sample.median(1)?.text(0) ?? "",
        sample.median(2)?.text(0) ?? "",
    ])
    return Section(
        title: "Frames received",
        table: table,
        goals: [
            Goal(
                "frames per second received, motion",
                sample.median(0),
                atLeast: 29.5,
                unit: "fps",
                digits: 2,
                command: webCommand
            ),
            Goal("freezes", sample.values.map { $0[1] }.max(), atMost: 0, unit: "", digits: 0, command: webCommand),
        ]
    )
}

private func motion(seconds: Double) throws -> [Double] {
    let web = try WebStage("motion")
    let browser = try web.viewer()
    sleep(seconds: 3)
    struct Statistics: Decodable {
        let at: Double
        let framesDecoded: Double
        let freezeCount: Double
        let framesDropped: Double
    }
    func statistics() throws -> Statistics {
        try browser.evaluate("(async () => ({...(await oriel.stats()), at: performance.now()}))()")
    }
    let before = try statistics()
    sleep(seconds: seconds)
    let after = try statistics()
    return [
        (after.framesDecoded - before.framesDecoded) * 1000 / (after.at - before.at),
        after.freezeCount - before.freezeCount, after.framesDropped - before.framesDropped,
    ]
}

// MARK: - Sharpness

/// Keeps every fourth row of the luma of each decoded frame, and when it was decoded.
private let watchLuma = """
    (() => {
        const track = oriel.pc.getReceivers()[0].track.clone();
        const reader = new MediaStreamTrackProcessor({track}).readable.getReader();
        window.frames = [];
        (async () => {
            for (;;) {
                const {value: frame, done} = await reader.read();
                if (done) return;
                const at = performance.timeOrigin + performance.now();
                const bytes = new Uint8Array(frame.allocationSize());
                const [{stride}] = await frame.copyTo(bytes);
                const luma = new Uint8Array(1280 * 180);
                for (let row = 0; row < 180; ++row) luma.set(bytes.subarray(row * 4 * stride, row * 4 * stride + 1280), row * 1280);
                frame.close();
                frames.push({at, luma});
                if (frames.length > 60) frames.shift();
            }
        })();
    })()
    """

/// Hands over the frames decoded from a time on, for a second and a half.
private func takeFrames(since time: Double) -> String {
    """
    (() => frames.filter(({at}) => at > \(time) && at < \(time) + 1500).map(({at, luma}) => {
        let text = '';
        for (let i = 0; i < luma.length; i += 8192) text += String.fromCharCode(...luma.subarray(i, i + 8192));
        return {at, luma: btoa(text)};
    }))()
    """
}

/// How soon after a change of the whole screen its text can be read.
private func sharpSection(_ options: RunOptions) -> Section {
    let codecs = ["vp8", "vp9"]
    var samples = codecs.map { _ in Samples() }
    for (index, codec) in codecs.enumerated() {
        samples[index].record { try sharpness(codec, flips: 2 * options.rounds) }
    }
    var table = Table(["codec", "first new picture ms", "dB", "≥ 38 dB after ms", "dB after 1.5 s"])
    for (codec, sample) in zip(codecs, samples) {
        table.rows.append(
            [codec] + (0..<4).map { sample.median($0)?.text($0 == 1 || $0 == 3 ? 1 : 0) ?? sample.failureText }
        )
    }
    return Section(
        title: "Full-screen change of text",
        table: table,
        goals: [
            Goal(
                "full-screen text change to ≥ 38 dB luma",
                samples[0].median(2),
                atMost: 600,
                unit: "ms",
                digits: 0,
                command: webCommand
            )
        ],
        notes: [
            "Luma PSNR in Chromium against an independent grab by ffmpeg, scaled the same way; medians of all changes."
        ]
    )
}

private func sharpness(_ codec: String, flips: Int) throws -> [Double] {
    let web = try WebStage("pages", rate: 0.25, codec: codec, capturingOutput: true)
    let painted = Sightings()
    let output = web.stage.workload.outputDescriptor
    _ = try Thread { readCounterLines(output, into: painted) }
    let browser = try web.viewer()
    let _: Bool? = try browser.evaluateOptional(watchLuma)
    let rescaler = Rescaler(from: Stage.size, to: EncoderSettings.size)
    var firsts: [Double] = []
    var firstQualities: [Double] = []
    var sharps: [Double] = []
    var lasts: [Double] = []
    sleep(seconds: 4)
    for _ in 0..<flips {
        let known = painted.all.keys.max() ?? 0
        try wait(until: "the next page is there") { painted.all.keys.max() ?? 0 > known }
        let time = Double(painted.all[known + 1]!) / 1e6 + wallClockAtMonotonicZero()
        sleep(seconds: 1.7)
        let source = Picture(size: Stage.size)
        try web.stage.grab(count: 1) { source.convert($0) }
        let wanted = Picture(size: EncoderSettings.size)
        wanted.rescale(source, by: rescaler)
        let frames = try browser.evaluate(takeFrames(since: time), as: [LumaFrame].self)
        let qualities = frames.map { (after: $0.at - time, quality: wanted.lumaPSNR(ofEveryFourthRow: Array($0.luma))) }
        // A frame of the page before is far from this one.
        let new = qualities.drop { $0.quality < 15 }
        guard let first = new.first, let last = new.last else { throw BenchError("no new picture came in 1.5 s") }
        firsts.append(first.after)
        firstQualities.append(first.quality)
        sharps.append(new.first { $0.quality >= 38 }?.after ?? 1500)
        lasts.append(last.quality)
    }
    return [firsts.median!, firstQualities.median!, sharps.median!, lasts.median!]
}

// MARK: - Many viewers

private func viewersSection(_ options: RunOptions) -> Section {
    let counts = [1, 25, 50]
    var samples = counts.map { _ in Samples() }
    for _ in 0..<min(options.rounds, 3) {
        for (index, count) in counts.enumerated() {
            samples[index].record { try load(viewers: count, seconds: options.seconds) }
        }
    }
    var table = Table(["viewers", "CPU of the sender, % of a core", "packets/s", "lost"])
    for (count, sample) in zip(counts, samples) {
        table.rows.append([
            "\(count)", sample.median(0)?.text(1) ?? sample.failureText, sample.median(1)?.text(0) ?? "",
            sample.median(2)?.text(0) ?? "",
        ])
    }
    let each = samples[0].median().flatMap { one in samples[2].median().map { ($0 - one) / 49 } }
    return Section(
        title: "Many viewers of full-screen motion at 2.5 Mb/s, VP8",
        table: table,
        goals: [
            Goal("CPU of each further viewer", each, atMost: 0.5, unit: "% of a core", command: webCommand),
            Goal(
                "packets lost to 50 viewers",
                samples[2].values.map { $0[2] }.max(),
                atMost: 0,
                unit: "",
                digits: 0,
                command: webCommand
            ),
        ],
        notes: ["The viewers are one process that decrypts and counts, on the same two cores."]
    )
}

private func load(viewers: Int, seconds: Double) throws -> [Double] {
    let web = try WebStage("motion")
    let arguments = [Peers.load, "\(web.origin)/whep", WebStage.token, "\(viewers)", "\(Int(seconds) + 4)"]
    let load = try Subprocess(web.network.atViewer(arguments))
    sleep(seconds: 4)  // all are connected by then, and the count has begun
    let before = try web.sender.cpuSeconds()
    let start = MonotonicClock.now()
    sleep(seconds: seconds - 1)
    let used = (try web.sender.cpuSeconds() - before) / secondsSince(start)
    try load.wait(timeout: .seconds(60))
    struct Report: Decodable {
        let connected: Int
        let packets: Double
        let lost: Double
        let seconds: Double
    }
    let report = try JSONDecoder().decode(Report.self, from: Data(load.output.utf8))
    guard report.connected == viewers else { throw BenchError("\(report.connected) of \(viewers) viewers connected") }
    return [used * 100, report.packets / report.seconds, report.lost]
}

// MARK: - A screen at rest

private func idleSection(_ options: RunOptions) -> Section {
    var sample = Samples()
    for _ in 0..<min(options.rounds, 3) { sample.record { try idle(seconds: max(options.seconds, 10)) } }
    var table = Table(["still screen, converged", "kb/s to the viewer", "CPU of the sender, ms per tick"])
    table.rows.append(["chromium", sample.median(0)?.text(1) ?? sample.failureText, sample.median(1)?.text(2) ?? ""])
    return Section(
        title: "At rest",
        table: table,
        goals: [
            Goal("bits to an idle viewer", sample.median(0), atMost: 10, unit: "kb/s", digits: 1, command: webCommand)
        ],
        notes: ["All that arrives at the viewer's end, with Ethernet, IP and UDP headers."]
    )
}

private func idle(seconds: Double) throws -> [Double] {
    let web = try WebStage("still")
    let browser = try web.viewer()
    sleep(seconds: 5)
    let (bytes, used) = (try web.bytesReceived(), try web.sender.cpuSeconds())
    let start = MonotonicClock.now()
    sleep(seconds: seconds)
    let elapsed = secondsSince(start)
    let rate = (try web.bytesReceived() - bytes) * 8 / elapsed / 1000
    let cost = (try web.sender.cpuSeconds() - used) * 1000 / (elapsed * 30)
    guard try browser.evaluate("oriel.state", as: String.self) == "live" else {
        throw BenchError("the page is not live")
    }
    return [rate, cost]
}
