import Pixels
import Posix
import Time

/// The share of ffmpeg's CPU time that each workload may take.
private let limits = [
    "still": 0.008, "typing": 0.045, "scrolling": 1 / 2.5, "motion": 0.65, "window": 1.0 / 4,
    "pointer": 1.0 / 12,
]

/// CPU time of each contender on each workload.
func costSection(_ options: RunOptions) -> Section {
    let contenders = [Contender.oriel, .ffmpeg, .plainFFmpeg, .gstreamer, .pixelflux]
    let unheard = costs(of: [.oriel], on: ["still"], size: Stage.size, isHeard: false, options)[0].samples[0]
    let heard = costs(of: contenders, on: workloads, size: Stage.size, options)
    func samples(of kind: String) -> [Samples] { heard.first { $0.kind == kind }!.samples }
    var section = section(heard, contenders, size: Stage.size)
    section.notes.append(
        "ffmpeg and gstreamer with Oriel's settings of libvpx, which make them cheaper and better; \"ffmpeg, plain\" with "
            + "-deadline realtime -cpu-used 8. pixelflux 2.2.1 does not scale: it encodes 1920x1080."
    )
    for kind in workloads {
        func ratio(to contender: Int) -> Double? {
            samples(of: kind)[0].median().flatMap { ours in samples(of: kind)[contender].median().map { ours / $0 } }
        }
        func goal(_ name: String, _ contender: Int, _ limit: Double) -> Goal {
            Goal(
                "CPU per tick, \(kind)",
                ratio(to: contender),
                atMost: limit,
                unit: "× \(name)",
                digits: 3,
                command: pipelineCommand
            )
        }
        section.goals.append(goal("ffmpeg", 1, limits[kind]!))
        section.goals.append(goal("pixelflux", 4, kind == "typing" ? 0.2 : 1))
    }
    section.goals.append(
        Goal(
            "CPU per tick, still, nobody listening",
            unheard.median().flatMap { ours in samples(of: "still")[1].median().map { ours / $0 } },
            atMost: limits["still"]!,
            unit: "× ffmpeg",
            digits: 3,
            command: pipelineCommand
        )
    )
    section.goals.append(
        Goal(
            "wake-ups of each process, still",
            samples(of: "still")[0].median(2),
            atMost: 5,
            unit: "a second",
            digits: 1,
            command: pipelineCommand
        )
    )
    return section
}

/// The same beside ffmpeg on a screen of four times as many pixels.
func largeCostSection(_ options: RunOptions) -> Section {
    let size = PixelSize(width: 3840, height: 2160)
    let contenders = [Contender.oriel, .ffmpeg]
    return section(
        costs(of: contenders, on: ["still", "typing", "scrolling", "motion"], size: size, options),
        contenders,
        size: size
    )
}

/// By workload, and by contender.
private func costs(
    of contenders: [Contender],
    on kinds: [String],
    size: PixelSize,
    isHeard: Bool = true,
    _ options: RunOptions
) -> [(kind: String, samples: [Samples])] {
    var costs = kinds.map { ($0, contenders.map { _ in Samples() }) }
    for _ in 0..<options.rounds {
        for kind in kinds.indices {
            for (index, contender) in contenders.enumerated() {
                costs[kind].1[index].record {
                    try cost(of: contender, on: kinds[kind], size: size, isHeard: isHeard, seconds: options.seconds)
                }
            }
        }
    }
    return costs
}

private func section(
    _ costs: [(kind: String, samples: [Samples])],
    _ contenders: [Contender],
    size: PixelSize
) -> Section {
    var table = Table(["workload", "contender", "CPU ms per tick", "to ffmpeg", "wake-ups/s", "kb/s"], labels: 2)
    var chart = Chart(title: "CPU per 1/30 s, \(size)", unit: "ms")
    var notes = [
        "User and system time of all processes of a contender, without the X server. Wake-ups are those of the process "
            + "that has most."
    ]
    for (kind, samples) in costs {
        let ffmpeg = samples[1].median()
        var bars: [Chart.Bar] = []
        for (contender, sample) in zip(contenders, samples) {
            guard let time = sample.median(), let rate = sample.median(1), let wakeUps = sample.median(2) else {
                table.rows.append([kind, contender.name, "failed", "", "", ""])
                notes.append("\(contender.name), \(kind): \(sample.failureText)")
                continue
            }
            let ratio = ffmpeg.map { (time / $0).text(3) + " ×" } ?? ""
            table.rows.append([kind, contender.name, time.text(3), ratio, wakeUps.text(1), rate.text(0)])
            bars.append(Chart.Bar(label: contender.name, value: time, isOurs: contender.isOurs))
        }
        chart.groups.append((kind, bars))
    }
    return Section(
        title: "CPU per 1/30 s, \(size) to 1280x720 VP8 at 2.5 Mb/s",
        table: table,
        chart: chart,
        notes: notes
    )
}

/// CPU milliseconds in 1/30 s, kb/s, and wake-ups a second of the process with the most.
///
/// - Parameter isHeard: whether anybody receives.
private func cost(
    of contender: Contender,
    on kind: String,
    size: PixelSize,
    isHeard: Bool,
    seconds: Double
) throws -> [Double] {
    let stage = try Stage(kind, size: size)
    let drain = try PortDrain()
    defer { drain.stop() }
    let broadcast = try contender.start(stage, isHeard ? drain.port : freePortPair())
    // After so long, a still picture is as good as it gets, with a keyframe that can be sent again.
    sleep(seconds: 6)
    try broadcast.requireRunning()
    guard drain.bytes > 0 || !isHeard else { throw BenchError("\(contender.name) sent nothing within 6 s") }
    let bytes = drain.bytes
    let before = try broadcast.processes.map { (cpu: try $0.cpuSeconds(), wakeUps: try $0.wakeUps()) }
    let start: Instant = MonotonicClock.now()
    sleep(seconds: seconds)
    let elapsed = secondsSince(start)
    try broadcast.requireRunning()
    try stage.workload.requireRunning()
    let used = try zip(broadcast.processes, before).map { process, before in
        (cpu: try process.cpuSeconds() - before.cpu, wakeUps: try process.wakeUps() - before.wakeUps)
    }
    return [
        used.map(\.cpu).reduce(0, +) * 1000 / (elapsed * 30), Double(drain.bytes - bytes) * 8 / 1000 / elapsed,
        used.map(\.wakeUps).max()! / elapsed,
    ]
}
