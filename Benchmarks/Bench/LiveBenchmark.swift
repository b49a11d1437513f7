import Foundation
import Glibc
import Pixels
import Posix
import TestSupport
import Time

let liveCommand = "tools/bench live"

/// The live view as a service: links with rights, views with an end, and commands. Each section is printed as soon as it is measured.
func liveSections(_ options: RunOptions, only name: String) -> [Section] {
    let sections: [(String, (RunOptions) -> Section)] = [
        ("start", liveStartSection), ("revoke", liveRevokeSection), ("viewport", liveViewportSection),
        ("command", liveCommandSection), ("grants", liveGrantsSection), ("guesses", liveGuessesSection),
    ]
    return sections.filter { name.isEmpty || $0.0.contains(name) }.map { _, measure in
        let section = measure(options)
        section.print()
        return section
    }
}

func liveGoal(
    _ name: String,
    _ value: Double?,
    atMost limit: Double,
    _ unit: String,
    digits: Int = 0,
    only: String
) -> Goal {
    Goal(name, value, atMost: limit, unit: unit, digits: digits, command: "\(liveCommand) --only \(only)")
}

// MARK: - Revoke

private func liveRevokeSection(_ options: RunOptions) -> Section {
    var samples = Samples()
    samples.record { try revokes(count: 5 * options.rounds) }
    var table = Table(["from the start of \"oriel revoke\" to", "p50 ms", "p95"])
    table.rows.append([
        "the last packet in Chromium", samples.median(0)?.text(0) ?? samples.failureText,
        samples.median(1)?.text(0) ?? "",
    ])
    return Section(
        title: "An invitation is taken back, full-screen motion",
        table: table,
        goals: [liveGoal("revoke to the last packet, p95", samples.median(1), atMost: 200, "ms", only: "revoke")],
        notes: ["With the start of the command's process."]
    )
}

private func revokes(count: Int) throws -> [Double] {
    let web = try WebStage("motion")
    var times: [Double] = []
    let browser = try web.browser(.chromium)
    for turn in 0..<count {
        let invited = try Subprocess.run([try sibling("oriel"), "invite", "guest\(turn)", "--dir", web.bridge])
        guard let token = invited.split(separator: "#").dropFirst().first?.split(whereSeparator: \.isNewline).first
        else {
            throw BenchError("no link: \(invited)")
        }
        try browser.open("about:blank")
        try browser.open("\(web.origin)/#\(token)")
        try wait(until: "the page is live") { try browser.evaluate("oriel.state", as: String.self) == "live" }
        let _: Bool? = try browser.evaluateOptional(watchPackets)
        sleep(seconds: 1)
        let start = Double(MonotonicClock.now().nanoseconds) / 1e6 + wallClockAtMonotonicZero()
        try Subprocess.run([try sibling("oriel"), "revoke", "guest\(turn)", "--dir", web.bridge])
        try wait(until: "the page knows") { try browser.evaluate("oriel.state", as: String.self) == "denied" }
        times.append(try browser.evaluate("lastPacketAt", as: Double.self) - start)
    }
    return [times.median!, times.percentile(95)!]
}

/// Notes when the last packet of the picture has come, as the browser tells it.
private let watchPackets = """
    (() => {
        window.lastPacketAt = 0;
        const [receiver] = oriel.pc.getReceivers();
        setInterval(async () => {
            for (const entry of (await receiver.getStats()).values()) {
                if (entry.type === 'inbound-rtp') lastPacketAt = Math.max(lastPacketAt, entry.lastPacketReceivedTimestamp ?? 0);
            }
        }, 20);
    })()
    """

// MARK: - Viewport

private func liveViewportSection(_ options: RunOptions) -> Section {
    let links: [(name: String, link: Link?, limit: Double)] = [
        ("good wire", nil, 100), ("2 Mb/s", Link(rate: 2e6, roundTrip: .milliseconds(40)), 600),
    ]
    var table = Table(["link", "≥ 38 dB after ms, p50", "p95", "dB after 1.5 s"])
    var goals: [Goal] = []
    for (name, link, limit) in links {
        var samples = Samples()
        samples.record { try crops(over: link, count: 4 * options.rounds) }
        table.rows.append([
            name, samples.median(0)?.text(0) ?? samples.failureText, samples.median(1)?.text(0) ?? "",
            samples.median(2)?.text(1) ?? "",
        ])
        goals.append(
            liveGoal("viewport to ≥ 38 dB luma, \(name), p50", samples.median(0), atMost: limit, "ms", only: "viewport")
        )
    }
    return Section(
        title: "Another part of a page of text is shown",
        table: table,
        goals: goals,
        notes: [
            "From the page's command to the decoded frame in Chromium. Luma PSNR against an independent grab by ffmpeg, cut and scaled the same way."
        ]
    )
}

private func crops(over link: Link?, count: Int) throws -> [Double] {
    let web = try WebStage("pages", ["--rate", "0.001"], link: link, options: ["--viewers-control"])
    let parts = [
        PixelRect(x: 0, y: 0, width: 960, height: 540), PixelRect(x: 960, y: 540, width: 960, height: 540),
        PixelRect(x: 480, y: 270, width: 960, height: 540), PixelRect(x: 320, y: 180, width: 1280, height: 720),
    ]
    let wanted = try parts.map { try web.stage.wantedPicture(of: $0) }
    let browser = try web.viewer()
    let _: Bool? = try browser.evaluateOptional(watchLuma)
    var (sharp, last): ([Double], [Double]) = ([], [])
    sleep(seconds: 3)
    for turn in 0..<count {
        let part = parts[turn % parts.count]
        let edges = [part.x, part.y, part.x + part.width, part.y + part.height]
        let start = try browser.evaluate(command("{\"viewport\":\(edges)}"), as: Double.self)
        sleep(seconds: 1.7)
        let frames = try browser.evaluate(takeFrames(since: start), as: [LumaFrame].self)
        let qualities = frames.map {
            (after: $0.at - start, quality: wanted[turn % parts.count].lumaPSNR(ofEveryFourthRow: Array($0.luma)))
        }
        guard let end = qualities.last else { throw BenchError("no new picture came in 1.5 s") }
        sharp.append(qualities.first { $0.quality >= 38 }?.after ?? 1500)
        last.append(end.quality)
    }
    return [sharp.median!, sharp.percentile(95)!, last.median!]
}

/// A script that gives a command, and tells when, by the time of day in milliseconds.
func command(_ json: String) -> String {
    """
    (async () => {
        const at = performance.timeOrigin + performance.now();
        const {status} = await fetch(`${oriel.resource}/command`, {method: 'POST', body: '\(json)'});
        if (status !== 204) throw new Error(`${status}`);
        return at;
    })()
    """
}

extension Stage {
    /// A part of the screen, at the size of the stream.
    fileprivate func wantedPicture(of part: PixelRect) throws -> Picture {
        let cut = Picture(size: part.size)
        try grab(count: 1) { pixels in
            let rows = part.rows.map { row in
                pixels[4 * (row * Self.size.width + part.x)..<4 * (row * Self.size.width + part.x + part.width)]
            }
            cut.convert(Array(rows.joined()))
        }
        let wanted = Picture(size: EncoderSettings.size)
        wanted.rescale(cut, by: Rescaler(from: part.size, to: EncoderSettings.size))
        return wanted
    }
}
