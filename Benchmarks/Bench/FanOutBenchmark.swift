import Posix
import TestSupport
import Time

private let viewerCounts = [1, 10, 50, 200]
/// Each new viewer requests a keyframe. A viewer that asks as often as Janus then gets one in eight seconds.
private let settling = 12.0

/// One sharer, one Janus at the other end of a wire, and its viewers there: the cost of a further viewer for the
/// sharer.
func fanOutSection(_ options: RunOptions) -> Section {
    var samples = viewerCounts.map { _ in Samples() }
    // Over so long, an occasional keyframe counts for little.
    let seconds = max(options.seconds, 20)
    for _ in 0..<min(options.rounds, 3) {
        for (index, count) in viewerCounts.enumerated() {
            samples[index].record { try fanOut(to: count, seconds: seconds) }
        }
    }
    var table = Table([
        "viewers", "CPU of Oriel, % of a core", "Oriel sends, kb/s", "CPU of Janus, % of a core",
        "packets/s to all viewers",
        "lost",
    ])
    for (count, sample) in zip(viewerCounts, samples) {
        table.rows.append(
            ["\(count)", sample.median(0)?.text(2) ?? sample.failureText]
                + (1...4).map {
                    sample.median($0)?.text($0 < 3 ? 1 : 0) ?? ""
                }
        )
    }
    func growth(_ index: Int) -> Double? {
        samples[0].median(index).flatMap { one in samples.last!.median(index).map { $0 / one } }
    }
    func goal(_ name: String, _ index: Int) -> Goal {
        Goal(
            "\(name) with 200 viewers of a Janus, of those with one",
            growth(index),
            atMost: 1.2,
            unit: "times",
            digits: 2,
            command: "\(callsCommand) --only fan-out"
        )
    }
    return Section(
        title: "One Janus passes the picture on, somebody types",
        table: table,
        goals: [goal("CPU of the sender", 0), goal("bytes of the sender", 1)],
        notes: ["The viewers are one process that decrypts and counts, on the same two cores as Oriel and Janus."]
    )
}

private func fanOut(to count: Int, seconds: Double) throws -> [Double] {
    let scene = try CallsStage("typing")
    let janus = try scene.janus(general: "session_timeout = 600")
    let sender = try scene.attach(Janus.call(CallsStage.janusRoom))
    defer { sender.stop() }
    let room = "janus+\(Janus.httpServer)/\(CallsStage.janusRoom)"
    // Then the room has a publisher, and its picture is sharp.
    sleep(seconds: 3)
    let load = try Subprocess(
        scene.network.atViewer([Counterparts.load, room, "none", "\(count)", "\(Int(seconds + settling))", "VP8"])
    )
    try wait(until: "all viewers look in: \(load.errorOutput)", timeout: .seconds(120)) {
        if let exit = load.status() { throw BenchError("the viewers ended with \(exit): \(load.output)") }
        return load.errorOutput.contains("connected")
    }
    sleep(seconds: settling)
    let before = (try sender.cpuSeconds(), try processorSeconds(of: janus.process.pid), try scene.bytesFromSender())
    let start: Instant = MonotonicClock.now()
    sleep(seconds: seconds - 1)
    let after = (try sender.cpuSeconds(), try processorSeconds(of: janus.process.pid), try scene.bytesFromSender())
    let time = secondsSince(start)
    try load.wait(timeout: .seconds(120))
    let report = try LoadReport(load.output, of: count)
    return [
        (after.0 - before.0) / time * 100, Double(after.2 - before.2) * 8 / 1000 / time,
        (after.1 - before.1) / time * 100,
        report.packets / report.seconds, report.lost,
    ]
}
