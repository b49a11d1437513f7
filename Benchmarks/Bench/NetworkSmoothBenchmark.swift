import Foundation
import Media
import Pixels
import Posix
import TestSupport
import Time
import VideoEncoding

/// Pages in the smooth fonts that desktops have, each 10 s another one, over a thin link.
private let thinLink = Link(rate: 300_000, roundTrip: .milliseconds(50), queue: 60)

/// A scalable font in a size in pixels, by the workload's options.
private struct Typeface {
    let name: String
    let options: [String]
}

private let typefaces = [
    Typeface(name: "DejaVu Sans Mono 15", options: []),
    Typeface(
        name: "Liberation Sans 17",
        options: ["--font", "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf", "--font-size", "17"]
    ),
    Typeface(
        name: "DejaVu Serif 13",
        options: ["--font", "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf", "--font-size", "13"]
    ),
]
private let senders = ["auto", "vp8", chromium]

/// For each typeface the pages that follow each other, and the page in the middle of which the link becomes thin.
var smoothSections: [(String, (RunOptions) -> Section)] {
    typefaces.flatMap { typeface in
        [
            ("smooth \(typeface.name)", { smoothSection(typeface, $0) }),
            ("becoming \(typeface.name)", { becomingSection(typeface, $0) }),
        ]
    }
}

private func smoothSection(_ typeface: Typeface, _ options: RunOptions) -> Section {
    let title = "300 kb/s, RTT 50 ms: a new page in \(typeface.name) each 10 s"
    var table = Table(
        ["sender", "≥ 30 dB after ms", "codec alone", "≥ 36 dB after ms", "codec alone", "dB after 9 s", "of the link"]
    )
    var goals: [Goal] = []
    var rival: Double?
    for sender in senders.reversed() {
        var samples = Samples()
        samples.record { try turnSmoothPages(typeface, by: sender, count: options.rounds) }
        table.rows.append(
            [sender] + (0..<6).map { samples.median($0)?.text($0 < 4 ? 0 : $0 - 3) ?? samples.failureText }
        )
        if sender == chromium {
            rival = samples.median(0)
            continue
        }
        func goal(_ name: String, _ measured: Double?, atMost limit: Double) -> Goal {
            Goal("\(title), \(sender): \(name)", measured, atMost: limit, unit: "times", command: networkCommand)
        }
        func share(_ column: Int) -> Double? {
            samples.median(column).flatMap { ours in samples.median(column + 1).map { ours / $0 } }
        }
        goals += [
            goal("≥ 30 dB, to the codec alone", share(0), atMost: 1.25),
            goal("≥ 36 dB, to the codec alone", share(2), atMost: 1.3),
            goal(
                "≥ 30 dB beside Chromium's",
                samples.median(0).flatMap { ours in rival.map { ours / $0 } },
                atMost: 0.6
            ),
            Goal(
                "\(title), \(sender): of the link while news waits",
                samples.median(5),
                atLeast: 0.9,
                unit: "",
                command: networkCommand
            ),
        ]
    }
    return Section(title: title, table: table, goals: goals, notes: ["What is not reached in 9 s is 9000."])
}

/// The link is found to be thin by the page that is on its way.
private func becomingSection(_ typeface: Typeface, _ options: RunOptions) -> Section {
    let title = "20 Mb/s, 300 kb/s from a page in \(typeface.name) on: until that is there"
    var table = Table(["sender", "≥ 30 dB after ms", "≥ 36 dB", "longest freeze ms"])
    var goals: [Goal] = []
    for sender in senders {
        var samples = Samples()
        for _ in 0..<options.rounds { samples.record { try becomeThin(typeface, by: sender) } }
        table.rows.append([sender] + (0..<3).map { samples.median($0)?.text(0) ?? samples.failureText })
        guard sender != chromium else { continue }
        goals.append(
            Goal(
                "\(title), \(sender): ≥ 30 dB",
                samples.median(0),
                atMost: 4000,
                unit: "ms",
                digits: 0,
                command: networkCommand
            )
        )
    }
    return Section(title: title, table: table, goals: goals, notes: ["What is not reached in 14 s is 14000."])
}

/// Pages that follow each other, and when a viewer can read them.
private final class PageScene {
    let web: any SharedScreen
    let browser: Browser
    private let painted = Sightings()

    init(_ typeface: Typeface, rate: Double, by sender: String, over link: Link) throws {
        web = try share(
            "smooth",
            ["--rate", "\(rate)"] + typeface.options,
            by: sender,
            over: link,
            capturingOutput: true
        )
        let (output, painted) = (web.stage.workload.outputDescriptor, painted)
        _ = try Thread { readCounterLines(output, into: painted) }
        browser = try web.viewer()
        let _: Bool? = try browser.evaluateOptional(watchLuma)
        let _: Bool? = try browser.evaluateOptional(
            """
            (() => {
                window.arrived = [];
                setInterval(async () => {
                    const {bytesReceived, headerBytesReceived, packetsReceived} = [...(await oriel.pc.getStats()).values()]
                        .find(({type, kind}) => type === 'inbound-rtp' && kind === 'video');
                    const at = performance.timeOrigin + performance.now();
                    arrived.push([at, bytesReceived + headerBytesReceived + 52 * packetsReceived]);
                }, 100);
            })()
            """
        )
    }

    /// When the next page is painted, in milliseconds of the wall clock.
    func awaitPage() throws -> Double {
        let known = painted.all.keys.max() ?? 0
        try wait(until: "the next page is there", timeout: .seconds(30)) { painted.all.keys.max() ?? 0 > known }
        return Double(painted.all[known + 1]!.nanoseconds) / 1e6 + wallClockAtMonotonicZero()
    }

    struct Reading {
        /// Milliseconds from paint to a picture of 30 and of 36 dB.
        let readable: Double
        let clear: Double
        /// In dB.
        let last: Double
        /// The longest time without another picture until it is clear.
        let freeze: Double
    }

    func reading(of wanted: Picture, since time: Double, for limit: Double) throws -> Reading {
        let frames = try browser.evaluate(takeFrames(since: time, for: Int(limit)), as: [LumaFrame].self)
        let seen = frames.map { (after: $0.at - time, quality: wanted.lumaPSNR(ofEveryFourthRow: Array($0.luma))) }
        let clear = seen.first { $0.quality >= 36 }?.after ?? limit
        let times = [0] + seen.map(\.after).filter { $0 < clear } + [clear]
        return Reading(
            readable: seen.first { $0.quality >= 30 }?.after ?? limit,
            clear: clear,
            last: seen.last?.quality ?? 0,
            freeze: zip(times.dropFirst(), times).map { $0 - $1 }.max()!
        )
    }

    /// Bits a second that arrived between two instants, with all headers.
    func rate(from: Double, to: Double) throws -> Double {
        let arrived = try browser.evaluate("arrived", as: [[Double]].self).filter { from...to ~= $0[0] }
        guard let first = arrived.first, let last = arrived.last, last[0] > first[0] else { return 0 }
        return (last[1] - first[1]) * 8 / (last[0] - first[0]) * 1000
    }
}

/// Medians of the times to 30 and 36 dB, each before what the codec alone would take, of the quality in the end, and of the share of
/// the link that was used before 36 dB.
private func turnSmoothPages(_ typeface: Typeface, by sender: String, count: Int) throws -> [Double] {
    let scene = try PageScene(typeface, rate: 0.1, by: sender, over: thinLink)
    var rows: [[Double]] = []
    // The first pages show what the link carries.
    for round in 0..<count + 1 {
        let time = try scene.awaitPage()
        sleep(seconds: 8.6)
        if round == 0 { continue }
        let wanted = try scene.web.stage.wantedPicture()
        let reading = try scene.reading(of: wanted, since: time, for: 9000)
        let alone = try bytesAlone(wanted, sender == "auto" ? .av1 : .vp8).map {
            Double($0) * 8 / thinLink.rate! * 1000
        }
        let used = try scene.rate(from: time + 200, to: time + min(reading.clear, 8500)) / thinLink.rate!
        rows.append([reading.readable, alone[0], reading.clear, alone[1], reading.last, used])
    }
    return (0..<6).map { column in rows.map { $0[column] }.median! }
}

private func becomeThin(_ typeface: Typeface, by sender: String) throws -> [Double] {
    let link = Link(rate: 20_000_000, roundTrip: .milliseconds(50), queue: 60)
    let scene = try PageScene(typeface, rate: 0.05, by: sender, over: link)
    _ = try scene.awaitPage()
    sleep(seconds: 15)
    try scene.web.wire!.setRate(300_000)
    let time = try scene.awaitPage()
    sleep(seconds: 14)
    let reading = try scene.reading(of: scene.web.stage.wantedPicture(), since: time, for: 14_000)
    return [reading.readable, reading.clear, reading.freeze]
}

/// The smallest keyframes of 30 and of 36 dB, in bytes.
private func bytesAlone(_ picture: Picture, _ codec: VideoCodec) throws -> [Int] {
    var least = [Int.max, Int.max]
    for quantizer in stride(from: 63, through: 8, by: -1) {
        var encoder = try VideoEncoder(
            VideoEncoderConfiguration(codec: codec, size: EncoderSettings.size, targetBitrate: EncoderSettings.bitrate)
        )
        let size = try encoder.encode(
            picture.nv12,
            presentationTime: .seconds(1),
            forceKeyframe: true,
            quantizers: quantizer...quantizer
        ) { _, data in data.count }
        var reference = PlanarPicture()
        guard let size, encoder.copyReference(into: &reference) else { continue }
        let quality = picture.lumaPSNR(of: reference.y)
        for (index, wanted) in [30.0, 36].enumerated() where quality >= wanted {
            least[index] = min(least[index], size)
        }
        if quality >= 36 { break }
    }
    return least
}
