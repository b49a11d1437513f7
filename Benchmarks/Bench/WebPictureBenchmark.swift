import Foundation
import Glibc
import Posix
import TestSupport
import Time

/// The time until a later viewer can read a still screen of text.
func lateSection(_ options: RunOptions) -> Section {
    let codecs = ["vp8", "vp9", "av1"]
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
    let web = try WebStage("pages", ["--rate", "0.001"], codec: codec)
    let wanted = try web.stage.wantedPicture()
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

/// Leaves and joins again. Gives every fourth row of the luma of the page's picture from its first frame on, with the
/// milliseconds since it joined: a screen at rest brings too few frames to wait for them.
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
                    16.5 + 219 / 255 * (0.299 * data[p] + 0.587 * data[p + 1] + 0.114 * data[p + 2]));
            }
            return {at, luma: btoa(text)};
        });
    })()
    """

struct LumaFrame: Decodable {
    let at: Double
    let luma: Data
}

/// Keeps every fourth row of the luma of each decoded frame, with its time.
let watchLuma = watchFrames(
    """
    const luma = new Uint8Array(1280 * 180);
    for (let row = 0; row < 180; ++row) luma.set(bytes.subarray(row * 4 * stride, row * 4 * stride + 1280), row * 1280);
    seen.push({at, luma});
    if (seen.length > 300) seen.shift();
    """
)

/// Returns the frames decoded from a time on, for some milliseconds; after the first second, one in each tenth.
func takeFrames(since time: Double, for milliseconds: Int = 1500) -> String {
    """
    (() => seen.filter(({at}, index) => at > \(time) && at < \(time) + \(milliseconds) && (at < \(time) + 1000 || index === 0
            || Math.floor(at / 100) !== Math.floor(seen[index - 1].at / 100))).map(({at, luma}) => {
        let text = '';
        for (let i = 0; i < luma.length; i += 8192) text += String.fromCharCode(...luma.subarray(i, i + 8192));
        return {at, luma: btoa(text)};
    }))()
    """
}

/// The time from a change of the whole screen to readable text.
func sharpSection(_ options: RunOptions) -> Section {
    let codecs = ["vp8", "vp9", "av1"]
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
        goals: [(0, 600.0), (2, 250)].map { index, limit in
            Goal(
                "full-screen text change to ≥ 38 dB luma, \(codecs[index])",
                samples[index].median(2),
                atMost: limit,
                unit: "ms",
                digits: 0,
                command: webCommand
            )
        },
        notes: [
            "Luma PSNR in Chromium against an independent grab by ffmpeg, scaled the same way; medians of all changes."
        ]
    )
}

private func sharpness(_ codec: String, flips: Int) throws -> [Double] {
    let web = try WebStage("pages", ["--rate", "0.25"], codec: codec, capturingOutput: true)
    let painted = Sightings()
    let output = web.stage.workload.outputDescriptor
    _ = try Thread { readCounterLines(output, into: painted) }
    let browser = try web.viewer()
    let _: Bool? = try browser.evaluateOptional(watchLuma)
    var firsts: [Double] = []
    var firstQualities: [Double] = []
    var sharps: [Double] = []
    var lasts: [Double] = []
    sleep(seconds: 4)
    for _ in 0..<flips {
        let known = painted.all.keys.max() ?? 0
        try wait(until: "the next page is there") { painted.all.keys.max() ?? 0 > known }
        let time = Double(painted.all[known + 1]!.nanoseconds) / 1e6 + wallClockAtMonotonicZero()
        sleep(seconds: 1.7)
        let wanted = try web.stage.wantedPicture()
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
