import Foundation
import Glibc
import Pixels
import Posix
import TestSupport
import Time

private let networkCommand = "tools/bench network"

/// The way from the screen to Chromium over links that are thin, lossy or change, by the viewer's own decoder.
func networkSections(_ options: RunOptions, only name: String) -> [Section] {
    let sections: [(String, (RunOptions) -> Section)] = [
        ("thin", thinSection), ("switch", switchSection), ("far", farSection), ("lossy", lossySection),
        ("drop", dropSection), ("typing", typingSection), ("shared", sharedSection), ("bulk", bulkSection),
        ("bad", badSection), ("join", joinSection),
    ]
    return sections.filter { name.isEmpty || $0.0.contains(name) }.map { $0.1(options) }
}

// MARK: - Pages of text

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
        codecs: ["auto", "vp8", "vp9", "av1"],
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
        codecs: ["auto", "vp8", "av1"],
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
        codecs: ["auto", "vp8", "av1"],
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
        }
    )
}

/// Medians of the times to 30 and 36 dB, the longest time to 36 dB, the median quality in the end, and the longest time without
/// a new picture before 36 dB.
private func turnPages(over link: Link, _ codec: String, count: Int) throws -> [Double] {
    let web = try WebStage(
        "pages",
        rate: 0.1,
        codec: codec,
        link: link,
        capturingOutput: true
    )
    let painted = Sightings()
    let output = web.stage.workload.outputDescriptor
    _ = try Thread { readCounterLines(output, into: painted) }
    let browser = try web.viewer()
    let _: Bool? = try browser.evaluateOptional(watchLuma)
    let rescaler = Rescaler(from: Stage.size, to: EncoderSettings.size)
    var rows: [[Double]] = []
    // The first page shows what the link carries.
    for round in 0...count {
        let known = painted.all.keys.max() ?? 0
        try wait(until: "the next page is there", timeout: .seconds(15)) { painted.all.keys.max() ?? 0 > known }
        let time = Double(painted.all[known + 1]!.nanoseconds) / 1e6 + wallClockAtMonotonicZero()
        sleep(seconds: 8.5)
        let source = Picture(size: Stage.size)
        try web.stage.grab(count: 1) { source.convert($0) }
        let wanted = Picture(size: EncoderSettings.size)
        wanted.rescale(source, by: rescaler)
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

/// How soon a viewer sees a page that stands, from the opening of the link on.
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
    let web = try WebStage("pages", rate: 0.001, codec: codec, link: link)
    let rescaler = Rescaler(from: Stage.size, to: EncoderSettings.size)
    let source = Picture(size: Stage.size)
    try web.stage.grab(count: 1) { source.convert($0) }
    let wanted = Picture(size: EncoderSettings.size)
    wanted.rescale(source, by: rescaler)
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

// MARK: - Motion

/// A scene that counts its pictures, and what a browser sees of it.
private final class CountedScene {
    struct Sight {
        let paintedAt: Double
        /// Milliseconds from paint to decoded; nil if it never was.
        let latency: Double?
    }

    let web: WebStage
    let browser: Browser
    private let painted = Sightings()

    init(_ kind: String, rate: Double, codec: String, over link: Link) throws {
        web = try WebStage(
            kind,
            rate: rate,
            codec: codec,
            link: link,
            capturingOutput: true
        )
        let (output, painted) = (web.stage.workload.outputDescriptor, painted)
        _ = try Thread { readCounterLines(output, into: painted) }
        browser = try web.viewer()
        let _: Bool? = try browser.evaluateOptional(watchNumbers)
    }

    /// What was painted between two instants, in order.
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
    fileprivate var latencies: [Double] { compactMap(\.latency) }

    /// Seconds during which no picture that was due came for more than half a second.
    fileprivate var frozen: Double {
        let times = compactMap { sight in sight.latency.map { sight.paintedAt + $0 } }.sorted()
        return zip(times.dropFirst(), times).map { $0 - $1 }.filter { $0 > 500 }.reduce(0, +) / 1000
    }
}

func dropSection(_ options: RunOptions) -> Section {
    let codecs = ["auto", "vp8", "av1"]
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
        ]
    )
}

private func drop(_ codec: String) throws -> [Double] {
    let scene = try CountedScene(
        "film",
        rate: 20,
        codec: codec,
        over: Link(rate: 5_000_000, roundTrip: .milliseconds(40))
    )
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

func lossySection(_ options: RunOptions) -> Section {
    let codecs = ["auto", "vp8", "av1"]
    var samples = codecs.map { _ in Samples() }
    for _ in 0..<options.rounds {
        for (index, codec) in codecs.enumerated() { samples[index].record { try scroll(codec) } }
    }
    let title = "1 Mb/s, RTT 40 ms, 3 % loss: text that scrolls"
    var table = Table(["codec", "fps", "frozen s of 30", "keyframes"])
    for (codec, sample) in zip(codecs, samples) {
        table.rows.append([codec] + (0..<3).map { sample.median($0)?.text($0 == 2 ? 0 : 1) ?? sample.failureText })
    }
    return Section(
        title: title,
        table: table,
        goals: [
            Goal("\(title): fps", samples[1].median(0), atLeast: 27, unit: "fps", digits: 1, command: networkCommand),
            Goal("\(title): frozen", samples[1].median(1), atMost: 0.5, unit: "s", digits: 1, command: networkCommand),
        ]
    )
}

private func scroll(_ codec: String) throws -> [Double] {
    let link = Link(rate: 1_000_000, roundTrip: .milliseconds(40), loss: 0.03)
    let web = try WebStage("scrolling", codec: codec, link: link)
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
    return [Double(times.count) / 30, gaps.filter { $0 > 200 }.reduce(0, +) / 1000, after - before]
}

func typingSection(_ options: RunOptions) -> Section {
    var samples = Samples()
    for _ in 0..<options.rounds {
        samples.record {
            let link = Link(rate: 2_000_000, roundTrip: .milliseconds(40), loss: 0.02, burst: 10)
            let scene = try CountedScene("counter", rate: 7, codec: "vp8", over: link)
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
            // A letter that never was decoded by itself was there with the next one.
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

// MARK: - Shared links

private func bytesReceived(_ browser: Browser) throws -> Double {
    try browser.evaluate(
        """
        (async () => [...(await oriel.pc.getStats()).values()].find(
            entry => entry.type === 'inbound-rtp' && entry.kind === 'video').bytesReceived)()
        """
    )
}

func sharedSection(_ options: RunOptions) -> Section {
    var samples = Samples()
    for _ in 0..<options.rounds {
        samples.record {
            let web = try WebStage("film", rate: 20, link: Link(rate: 3_000_000, roundTrip: .milliseconds(40)))
            let browsers = try (0..<3).map { _ in try web.viewer() }
            sleep(seconds: 15)
            let before = try browsers.map(bytesReceived)
            sleep(seconds: 20)
            let rates = zip(try browsers.map(bytesReceived), before).map { ($0 - $1) * 8 / 20 / 1e6 }
            let mean = rates.reduce(0, +) / 3
            return [mean, rates.map { abs($0 / mean - 1) * 100 }.max()!]
        }
    }
    let title = "3 Mb/s, three viewers, motion"
    var table = Table(["each Mb/s, mean", "farthest from it, %"])
    table.rows.append([samples.median(0)?.text(2) ?? samples.failureText, samples.median(1)?.text(1) ?? ""])
    return Section(
        title: title,
        table: table,
        goals: [
            Goal(
                "\(title): from the mean",
                samples.median(1),
                atMost: 25,
                unit: "%",
                digits: 1,
                command: networkCommand
            )
        ]
    )
}

/// What a viewer gets beside a transfer that takes all it can, over 30 s.
func bulkSection(_ options: RunOptions) -> Section {
    var samples = Samples()
    for _ in 0..<options.rounds {
        samples.record {
            let web = try WebStage("film", rate: 20, link: Link(rate: 4_000_000, roundTrip: .milliseconds(40)))
            let browser = try web.viewer()
            sleep(seconds: 8)
            let sink = """
                import socket
                server = socket.create_server(("\(Network.viewerAddress)", 9000))
                connection, _ = server.accept()
                while connection.recv(1 << 16): pass
                """
            let source = """
                import socket
                connection = socket.create_connection(("\(Network.viewerAddress)", 9000))
                while True: connection.sendall(bytes(1 << 16))
                """
            let commands = [
                web.network.atViewer(["/usr/bin/python3", "-c", sink]),
                web.network.atSender(["/usr/bin/python3", "-c", source]),
            ]
            let receiver = try ChildProcess(commands[0][0], Array(commands[0].dropFirst()))
            sleep(seconds: 1)
            let transfer = try ChildProcess(commands[1][0], Array(commands[1].dropFirst()))
            defer { for process in [transfer, receiver] { process.stop() } }
            sleep(seconds: 10)
            let before = try bytesReceived(browser)
            sleep(seconds: 30)
            try transfer.requireRunning()
            return [(try bytesReceived(browser) - before) * 8 / 30 / 4_000_000 * 100]
        }
    }
    let title = "4 Mb/s beside a bulk transfer by TCP, motion"
    var table = Table(["share of the link, %"])
    table.rows.append([samples.median(0)?.text(1) ?? samples.failureText])
    return Section(
        title: title,
        table: table,
        goals: [Goal("\(title): share", samples.median(0), atLeast: 30, unit: "%", digits: 1, command: networkCommand)]
    )
}

/// What forty viewers with good links see, alone and beside ten with bad ones.
func badSection(_ options: RunOptions) -> Section {
    var samples = [Samples(), Samples()]
    for _ in 0..<options.rounds {
        for index in 0..<2 { samples[index].record { try beside(badViewers: 10 * index) } }
    }
    var table = Table([
        "viewers", "to decoded p50 ms", "p95", "shown of 400", "of 40 each fps", "lost", "of 10 bad each fps",
    ])
    for (name, sample) in zip(["40", "40 and 10 at 500 kb/s"], samples) {
        table.rows.append(
            [name] + (0..<6).map { sample.median($0)?.text($0 == 3 || $0 == 5 ? 1 : 0) ?? sample.failureText }
        )
    }
    let ratio = samples[1].median(1).flatMap { bad in samples[0].median(1).map { bad / $0 } }
    return Section(
        title: "Ten of fifty viewers at 500 kb/s, RTT 50 ms, motion at 20 Hz",
        table: table,
        goals: [
            Goal(
                "ten bad links: p95 of the others beside theirs alone",
                ratio,
                atMost: 1.3,
                unit: "times",
                command: networkCommand
            ),
            Goal(
                "ten bad links: pictures the others see",
                samples[1].median(2).flatMap { bad in samples[0].median(2).map { bad / $0 } },
                atLeast: 0.97,
                unit: "times",
                command: networkCommand
            ),
        ],
        notes: [
            "All but one of the viewers are processes that count and decode nothing; the ten report once a second and no more."
        ]
    )
}

private func beside(badViewers count: Int) throws -> [Double] {
    let ports: ClosedRange<UInt16> = 20_000...20_099
    let link = Link(rate: 500_000, roundTrip: .milliseconds(50), ports: ports)
    let scene = try CountedScene("film", rate: 20, codec: "vp8", over: link)
    func load(_ viewers: Int, _ ports: [String]) throws -> Subprocess {
        let arguments = [Counterparts.load, "\(scene.web.origin)/whep", WebStage.token, "\(viewers)", "40", "VP8"]
        return try Subprocess(scene.web.network.atViewer(arguments + ports))
    }
    let good = try load(39, [])
    let bad = count == 0 ? nil : try load(count, ["\(ports.lowerBound)", "\(ports.upperBound)"])
    sleep(seconds: 15)
    let from: Instant = MonotonicClock.now()
    sleep(seconds: 20)
    let sights = try scene.sights(from: from, to: MonotonicClock.now())
    struct Report: Decodable {
        let frames: Double
        let lost: Double
        let seconds: Double
    }
    func report(_ load: Subprocess) throws -> Report {
        try load.wait(timeout: .seconds(60))
        return try JSONDecoder().decode(Report.self, from: Data(load.output.utf8))
    }
    let seen = try report(good)
    let bySlow = try bad.map { try report($0) }
    return [
        sights.latencies.median ?? 20_000, sights.latencies.percentile(95) ?? 20_000, Double(sights.latencies.count),
        seen.frames / seen.seconds / 39, seen.lost, bySlow.map { $0.frames / $0.seconds / Double(count) } ?? 0,
    ]
}
