import Posix
import Time

/// Cost by the share of the screen that changes, at 30 changes a second.
func areaSection(_ options: RunOptions) -> Section {
    let shares = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1]
    var table = Table(["changed, % of the screen", "capture ms per tick", "sender", "both", "ms per % of the screen"])
    var points: [(share: Double, cost: Double)] = []
    var notes = ["A part of a film in the middle of a still desktop."]
    for share in [0] + shares {
        var sample = Samples()
        for _ in 0..<options.rounds { sample.record { try areaCost(share, seconds: min(options.seconds, 4)) } }
        guard let capture = sample.median(0), let sender = sample.median(1) else {
            notes.append("\(share): \(sample.failureText)")
            continue
        }
        let both = capture + sender
        points.append((share, both))
        table.rows.append([
            (share * 100).text(2), capture.text(3), sender.text(3), both.text(3),
            share == 0 ? "" : (both / share / 100).text(3),
        ])
    }
    return Section(
        title: "CPU per 1/30 s against changed area, 1080p to 720p VP8 at 2.5 Mb/s",
        table: table,
        plot: Plot(
            file: "area.svg",
            title: "CPU against changed area",
            x: "changed, % of the screen",
            y: "ms per 1/30 s",
            points: points.map { ($0.share * 100, $0.cost) }
        ),
        notes: notes
    )
}

/// CPU milliseconds of the capture process and of the sender in 1/30 s.
private func areaCost(_ share: Double, seconds: Double) throws -> [Double] {
    let stage = share == 0 ? try Stage("still") : try Stage("area", ["--share", "\(share)"])
    let drain = try PortDrain()
    defer { drain.stop() }
    let broadcast = try Contender.oriel.start(stage, drain.port)
    sleep(seconds: 3)
    let before = try broadcast.processes.map { try $0.cpuSeconds() }
    let start: Instant = MonotonicClock.now()
    sleep(seconds: seconds)
    let ticks = secondsSince(start) * 30
    try broadcast.requireRunning()
    return try zip(broadcast.processes, before).map { try ($0.cpuSeconds() - $1) * 1000 / ticks }
}
