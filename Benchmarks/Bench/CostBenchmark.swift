import Posix

/// What share of ffmpeg's CPU time each workload may take.
private let limits = [
    "still": 1.0 / 200, "typing": 1.0 / 15, "scrolling": 1 / 2.5, "motion": 0.65, "window": 1.0 / 4,
    "pointer": 1.0 / 12,
]

/// CPU time of each contender on each workload.
func costSection(_ options: RunOptions) -> Section {
    let contenders = [Contender.oriel, .ffmpeg, .gstreamer]
    var samples: [String: [Samples]] = [:]
    for kind in workloads { samples[kind] = contenders.map { _ in Samples() } }
    for _ in 0..<options.rounds {
        for kind in workloads {
            for (index, contender) in contenders.enumerated() {
                samples[kind]![index].record { try cost(of: contender, on: kind, seconds: options.seconds) }
            }
        }
    }

    var table = Table(["workload", "contender", "CPU ms per tick", "to ffmpeg", "kb/s"], labels: 2)
    var chart = Chart(title: "CPU per 1/30 s", unit: "ms")
    var goals: [Goal] = []
    var notes = ["User and system time of all processes of a contender, without the X server."]
    for kind in workloads {
        let ffmpeg = samples[kind]![1].median()
        var bars: [Chart.Bar] = []
        for (contender, sample) in zip(contenders, samples[kind]!) {
            guard let time = sample.median(), let rate = sample.median(1) else {
                table.rows.append([kind, contender.name, "failed", "", ""])
                notes.append("\(contender.name), \(kind): \(sample.failureText)")
                continue
            }
            let ratio = ffmpeg.map { (time / $0).text(3) + " ×" } ?? ""
            table.rows.append([kind, contender.name, time.text(3), ratio, rate.text(0)])
            bars.append(Chart.Bar(label: contender.name, value: time, isOurs: contender.isOurs))
        }
        chart.groups.append((kind, bars))
        let ratio = samples[kind]![0].median().flatMap { ours in ffmpeg.map { ours / $0 } }
        goals.append(
            Goal(
                "CPU per tick, \(kind)",
                ratio,
                atMost: limits[kind]!,
                unit: "× ffmpeg",
                digits: 3,
                command: pipelineCommand
            )
        )
    }
    return Section(
        title: "CPU per 1/30 s, 1920x1080 to 1280x720 VP8 at 2.5 Mb/s",
        table: table,
        goals: goals,
        chart: chart,
        notes: notes
    )
}

/// CPU milliseconds in 1/30 s, and kb/s.
private func cost(of contender: Contender, on kind: String, seconds: Double) throws -> [Double] {
    let stage = try Stage(kind)
    let drain = try PortDrain()
    defer { drain.stop() }
    let broadcast = try contender.start(stage.display, drain.port)
    sleep(seconds: 3)
    try broadcast.requireRunning()
    guard drain.bytes > 0 else { throw BenchError("\(contender.name) sent nothing within 3 s") }
    func used() throws -> Double { try broadcast.processes.map { try $0.cpuSeconds() }.reduce(0, +) }
    let before = (cpu: try used(), bytes: drain.bytes)
    let start = MonotonicClock.now()
    sleep(seconds: seconds)
    let elapsed = secondsSince(start)
    try broadcast.requireRunning()
    try stage.workload.requireRunning()
    let ticks = elapsed * 30
    return [(try used() - before.cpu) * 1000 / ticks, Double(drain.bytes - before.bytes) * 8 / 1000 / elapsed]
}
