import Foundation
import Media
import Pixels
import Posix
import TestSupport
import Time
import VideoEncoding

/// Pages in the smooth fonts of desktops, a new one each 10 s, over a thin link.
private let thinLink = Link(rate: 300_000, roundTrip: .milliseconds(50), queue: 60)

private func typeface(_ name: String, _ options: [String] = []) -> PageKind {
    PageKind(name: name, workload: "smooth", options: options)
}

private let typefaces = [
    typeface("DejaVu Sans Mono 15"),
    typeface(
        "Liberation Sans 17",
        ["--font", "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf", "--font-size", "17"]
    ),
    typeface(
        "DejaVu Serif 13",
        ["--font", "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf", "--font-size", "13"]
    ),
]

/// Screens of real programs: an editor, a photograph, a spreadsheet, a map and a page of news.
private let programs = PageKind(
    name: "programs",
    workload: "pictures",
    options: ["editor-dark", "film", "spreadsheet", "map", "news"].flatMap {
        ["--picture", GalleryPicture.path(of: $0)]
    }
)

private let senders = ["auto", "vp8", chromium]

/// For each typeface successive pages, a page in the middle of which the link becomes thin, and pages over a better
/// link; and screens of programs.
var smoothSections: [(String, (RunOptions) -> Section)] {
    typefaces.flatMap { typeface in
        [
            ("smooth \(typeface.name)", { smoothSection(typeface, $0) }),
            ("becoming \(typeface.name)", { becomingSection(typeface, $0) }),
            ("rest \(typeface.name)", { restSection(typeface, $0) }),
        ]
    } + [("programs", { smoothSection(programs, $0) })]
}

private func smoothSection(_ pages: PageKind, _ options: RunOptions) -> Section {
    let title = "300 kb/s, RTT 50 ms: a new page of \(pages.name) each 10 s"
    var table = Table(
        ["sender", "≥ 30 dB after ms", "codec alone", "≥ 36 dB after ms", "codec alone", "dB after 9 s", "of the link"]
    )
    var goals: [Goal] = []
    var rival: Double?
    for sender in senders.reversed() {
        var samples = Samples()
        samples.record { try turnThinPages(pages, by: sender, count: options.rounds) }
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

/// The page that is on its way finds that the link is thin.
private func becomingSection(_ pages: PageKind, _ options: RunOptions) -> Section {
    let title = "20 Mb/s, 300 kb/s from a page of \(pages.name) on: until that is there"
    var table = Table(["sender", "≥ 30 dB after ms", "≥ 36 dB", "longest freeze ms"])
    var goals: [Goal] = []
    for sender in senders {
        var samples = Samples()
        for _ in 0..<options.rounds { samples.record { try becomeThin(pages, by: sender) } }
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

private func restSection(_ pages: PageKind, _ options: RunOptions) -> Section {
    let title = "2 Mb/s, RTT 50 ms: another page of \(pages.name) after 10 s of rest"
    let link = Link(rate: 2_000_000, roundTrip: .milliseconds(50))
    var table = Table(["sender", "≥ 30 dB after ms", "≥ 36 dB", "worst", "dB after 9 s"])
    var goals: [Goal] = []
    for sender in senders {
        var samples = Samples()
        samples.record {
            let readings = try turnPages(pages, by: sender, over: link, count: options.rounds).map(\.reading)
            let clear = readings.map(\.clear)
            return [readings.map(\.readable).median!, clear.median!, clear.max()!, readings.map(\.last).median!]
        }
        table.rows.append(
            [sender] + (0..<4).map { samples.median($0)?.text($0 < 3 ? 0 : 1) ?? samples.failureText }
        )
        guard sender != chromium else { continue }
        goals.append(
            Goal(
                "\(title), \(sender): ≥ 36 dB",
                samples.median(1),
                atMost: 700,
                unit: "ms",
                digits: 0,
                command: networkCommand
            )
        )
    }
    return Section(title: title, table: table, goals: goals, notes: ["What is not reached in 9 s is 9000."])
}

/// Medians of the times to 30 and 36 dB, each before the codec's own minimum, of the final quality, and of the used
/// share of the link before 36 dB.
private func turnThinPages(_ pages: PageKind, by sender: String, count: Int) throws -> [Double] {
    let rows = try turnPages(pages, by: sender, over: thinLink, count: count).map { page in
        let alone = try bytesAlone(page.wanted, sender == "auto" ? .av1 : .vp8).map {
            Double($0) * 8 / thinLink.rate! * 1000
        }
        let reading = page.reading
        return [reading.readable, alone[0], reading.clear, alone[1], reading.last, page.rate / thinLink.rate!]
    }
    return (0..<6).map { column in rows.map { $0[column] }.median! }
}

private struct TurnedPage {
    let wanted: Picture
    let reading: PageScene.Reading
    /// Bits a second that arrived before 36 dB.
    let rate: Double
}

private func turnPages(_ pages: PageKind, by sender: String, over link: Link, count: Int) throws -> [TurnedPage] {
    let scene = try PageScene(pages, rate: 0.1, by: sender, over: link)
    return try (0..<count + 1).compactMap { round in
        let time = try scene.awaitPage()
        sleep(seconds: 8.6)
        // The first page measures the link.
        guard round > 0 else { return nil }
        let wanted = try scene.web.stage.wantedPicture()
        let reading = try scene.reading(of: wanted, since: time, for: 9000)
        let rate = try scene.rate(from: time + 200, to: time + min(reading.clear, 8500))
        return TurnedPage(wanted: wanted, reading: reading, rate: rate)
    }
}

private func becomeThin(_ pages: PageKind, by sender: String) throws -> [Double] {
    let link = Link(rate: 20_000_000, roundTrip: .milliseconds(50), queue: 60)
    let scene = try PageScene(pages, rate: 0.05, by: sender, over: link)
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
