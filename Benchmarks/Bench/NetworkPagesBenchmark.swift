import Foundation
import Posix
import TestSupport
import Time

private struct PageLink {
    let title: String
    let link: Link
    let goals: [(measure: String, codec: String, column: Int, limit: Double)]
}

func thinSection(_ options: RunOptions) -> Section {
    pageSection(
        PageLink(
            title: "300 kb/s, RTT 50 ms: a new page of dense text each 10 s",
            link: Link(rate: 300_000, roundTrip: .milliseconds(50)),
            goals: [
                ("≥ 30 dB", "vp8", 0, 1000), ("≥ 36 dB", "vp8", 1, 3500), ("≥ 36 dB", "av1", 1, 2000),
                ("longest freeze", "vp8", 4, 1000),
            ]
        ),
        codecs: ["auto", "vp8", "vp9", "av1", chromium],
        options
    )
}

func switchSection(_ options: RunOptions) -> Section {
    pageSection(
        PageLink(
            title: "2 Mb/s, RTT 50 ms: another page after 10 s of rest",
            link: Link(rate: 2_000_000, roundTrip: .milliseconds(50)),
            goals: [("≥ 36 dB", "vp8", 1, 600)]
        ),
        codecs: ["auto", "vp8", "av1", chromium],
        options
    )
}

func farSection(_ options: RunOptions) -> Section {
    pageSection(
        PageLink(
            title: "20 Mb/s, RTT 200 ms, 1 % loss: another page after 10 s of rest",
            link: Link(rate: 20_000_000, roundTrip: .milliseconds(200), loss: 0.01),
            goals: [("≥ 36 dB, median", "vp8", 1, 500), ("≥ 36 dB, worst", "vp8", 2, 900)]
        ),
        codecs: ["auto", "vp8", "av1", chromium],
        options
    )
}

private func pageSection(_ pages: PageLink, codecs: [String], _ options: RunOptions) -> Section {
    var samples = codecs.map { _ in Samples() }
    for (index, codec) in codecs.enumerated() {
        samples[index].record { try turnPages(over: pages.link, codec, count: options.rounds) }
    }
    var table = Table(["codec", "≥ 30 dB after ms", "≥ 36 dB after ms", "worst", "dB after 9 s", "longest freeze ms"])
    for (codec, sample) in zip(codecs, samples) {
        let cells = (0..<5).map { sample.median($0)?.text($0 == 3 ? 1 : 0) ?? sample.failureText }
        table.rows.append([codec] + cells)
    }
    let (first, rival) = (samples[codecs.firstIndex(of: "vp8")!].median(0), samples[codecs.count - 1].median(0))
    return Section(
        title: pages.title,
        table: table,
        goals: pages.goals.compactMap { goal in
            codecs.firstIndex(of: goal.codec).map { index in
                Goal(
                    "\(pages.title): \(goal.measure), \(goal.codec)",
                    samples[index].median(goal.column),
                    atMost: goal.limit,
                    unit: "ms",
                    digits: 0,
                    command: networkCommand
                )
            }
        } + [
            Goal(
                "\(pages.title): ≥ 30 dB beside Chromium's",
                first.flatMap { first in rival.map { first / $0 } },
                atMost: 0.6,
                unit: "times",
                command: networkCommand
            )
        ],
        chart: chart(pages.title, codecs, samples),
        notes: ["What is not reached in 9 s is 9000."]
    )
}

private func chart(_ title: String, _ codecs: [String], _ samples: [Samples]) -> Chart {
    var chart = Chart(title: title, unit: "ms")
    for (column, name) in ["≥ 30 dB", "≥ 36 dB"].enumerated() {
        let bars = zip(codecs, samples).compactMap { codec, sample in
            sample.median(column).map { Chart.Bar(label: codec, value: $0, isOurs: codec != chromium) }
        }
        chart.groups.append((name, bars))
    }
    return chart
}

/// Medians of the times to 30 and 36 dB, the longest time to 36 dB, the median final quality, and the longest time
/// without a new picture before 36 dB.
private func turnPages(over link: Link, _ codec: String, count: Int) throws -> [Double] {
    let web = try share("pages", ["--rate", "0.1"], by: codec, over: link, capturingOutput: true)
    let painted = Sightings()
    let output = web.stage.workload.outputDescriptor
    _ = try Thread { readCounterLines(output, into: painted) }
    let browser = try web.viewer()
    let _: Bool? = try browser.evaluateOptional(watchLuma)
    var rows: [[Double]] = []
    // The first page measures the link.
    for round in 0...count {
        let known = painted.all.keys.max() ?? 0
        try wait(until: "the next page is there", timeout: .seconds(15)) { painted.all.keys.max() ?? 0 > known }
        let time = Double(painted.all[known + 1]!.nanoseconds) / 1e6 + wallClockAtMonotonicZero()
        sleep(seconds: 8.5)
        let wanted = try web.stage.wantedPicture()
        let frames = try browser.evaluate(
            takeFrames(since: time, for: 9000),
            as: [LumaFrame].self
        )
        if round == 0 { continue }
        let seen = frames.map { (after: $0.at - time, quality: wanted.lumaPSNR(ofEveryFourthRow: Array($0.luma))) }
        let clear = seen.first { $0.quality >= 36 }?.after ?? 9000
        let times = [0] + seen.map(\.after).filter { $0 < clear } + [clear]
        rows.append([
            seen.first { $0.quality >= 30 }?.after ?? 9000, clear, seen.last?.quality ?? 0,
            zip(times.dropFirst(), times).map { $0 - $1 }.max()!,
        ])
    }
    func column(_ index: Int) -> [Double] { rows.map { $0[index] } }
    return [column(0).median!, column(1).median!, column(1).max()!, column(2).median!, column(3).max()!]
}

/// The time until a viewer sees a page at rest, from the opening of the link.
func joinSection(_ options: RunOptions) -> Section {
    let links = [
        ("300 kb/s, RTT 50 ms", Link(rate: 300_000, roundTrip: .milliseconds(50))),
        ("20 Mb/s, RTT 200 ms, 1 % loss", Link(rate: 20_000_000, roundTrip: .milliseconds(200), loss: 0.01)),
        ("no limit, RTT 1 ms", Link(roundTrip: .milliseconds(1))),
    ]
    var table = Table(["link", "codec", "page loaded ms", "≥ 30 dB", "≥ 36 dB"])
    for (name, link) in links {
        for codec in ["vp8", "av1"] {
            var sample = Samples()
            for _ in 0..<options.rounds { sample.record { try join(over: link, codec) } }
            table.rows.append([name, codec] + (0..<3).map { sample.median($0)?.text(0) ?? sample.failureText })
        }
    }
    return Section(title: "A viewer looks in on a page of dense text", table: table, goals: [])
}

private func join(over link: Link, _ codec: String) throws -> [Double] {
    let web = try WebStage("pages", ["--rate", "0.001"], codec: codec, link: link)
    let wanted = try web.stage.wantedPicture()
    let browser = try web.browser(.chromium)
    try browser.open(web.page)
    try wait(until: "there is a connection") {
        try browser.evaluate("!!(window.oriel && oriel.pc && oriel.pc.getReceivers()[0])", as: Bool.self)
    }
    let _: Bool? = try browser.evaluateOptional(watchLuma)
    sleep(seconds: 9)
    let start = try browser.evaluate("performance.timeOrigin", as: Double.self)
    let loaded = try browser.evaluate(
        "performance.timing.loadEventEnd - performance.timing.navigationStart",
        as: Double.self
    )
    let frames = try browser.evaluate(takeFrames(since: start, for: 9000), as: [LumaFrame].self)
    let seen = frames.map { (after: $0.at - start, quality: wanted.lumaPSNR(ofEveryFourthRow: Array($0.luma))) }
    return [loaded, seen.first { $0.quality >= 30 }?.after ?? 9000, seen.first { $0.quality >= 36 }?.after ?? 9000]
}
