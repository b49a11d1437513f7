import Foundation
import Posix
import TestSupport
import Time

func motionSection(_ options: RunOptions) -> Section {
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

func viewersSection(_ options: RunOptions) -> Section {
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
    let arguments = [Counterparts.load, "\(web.origin)/whep", WebStage.token, "\(viewers)", "\(Int(seconds) + 4)"]
    let load = try Subprocess(web.network.atViewer(arguments))
    sleep(seconds: 4)  // all are connected by then, and the count has begun
    let before = try web.sender.cpuSeconds()
    let start: Instant = MonotonicClock.now()
    sleep(seconds: seconds - 1)
    let used = (try web.sender.cpuSeconds() - before) / secondsSince(start)
    try load.wait(timeout: .seconds(60))
    let report = try LoadReport(load.output, of: viewers)
    return [used * 100, report.packets / report.seconds, report.lost]
}

func idleSection(_ options: RunOptions) -> Section {
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
    let start: Instant = MonotonicClock.now()
    sleep(seconds: seconds)
    let elapsed = secondsSince(start)
    let rate = (try web.bytesReceived() - bytes) * 8 / elapsed / 1000
    let cost = (try web.sender.cpuSeconds() - used) * 1000 / (elapsed * 30)
    guard try browser.evaluate("oriel.state", as: String.self) == "live" else {
        throw BenchError("the page is not live")
    }
    return [rate, cost]
}
