import Containers
import Foundation
import Glibc
import Media
import Pixels
import Posix
import Time

let recordCommand = "tools/bench record"

/// Recording: its cost beside a share, and how soon and how surely a file is there. Each is printed as soon as it is measured.
func recordSections(_ options: RecordOptions, only name: String) -> [Section] {
    let sections: [(String, (RecordOptions) -> Section)] = [
        ("cost", recordCostSection), ("memory", recordMemorySection), ("speed", recordSpeedSection),
        ("live", recordLiveSection), ("hour", recordHourSection), ("kill", recordKillSection),
    ]
    return sections.filter { name.isEmpty || $0.0.contains(name) }.map { _, measure in
        let section = measure(options)
        section.print()
        return section
    }
}

struct RecordOptions {
    let run: RunOptions
    /// How often a recorder is killed.
    let kills: Int
    /// How long a still screen is recorded, to be scaled to an hour.
    let minutes: Double
}

private func goal(
    _ name: String,
    _ value: Double?,
    atMost limit: Double,
    _ unit: String,
    digits: Int = 2,
    only: String
) -> Goal {
    Goal(name, value, atMost: limit, unit: unit, digits: digits, command: "\(recordCommand) --only \(only)")
}

// MARK: - Cost

private let costLimits = [("still", 0.02), ("typing", 0.1), ("motion", 0.5)]

private func recordCostSection(_ options: RecordOptions) -> Section {
    var table = Table(["beside a share", "recorder", "sender, more", "ffmpeg that records too"])
    var goals: [Goal] = []
    for (kind, limit) in costLimits {
        var (ours, ffmpeg) = (Samples(), Samples())
        for _ in 0..<options.run.rounds {
            ours.record { try recorderCost(on: kind, seconds: options.run.seconds) }
            ffmpeg.record { [try ffmpegCost(on: kind, seconds: options.run.seconds)] }
        }
        table.rows.append([
            kind, ours.median()?.text(3) ?? ours.failureText, ours.median(1)?.text(2) ?? "",
            ffmpeg.median()?.text(1) ?? ffmpeg.failureText,
        ])
        goals.append(
            goal("CPU of the recorder, \(kind)", ours.median(), atMost: limit, "% of a core", digits: 3, only: "cost")
        )
    }
    return Section(
        title: "What recording costs, % of a core",
        table: table,
        goals: goals,
        notes: [
            "The recorder with the process that connects it. ffmpeg grabs, scales and encodes with Oriel's settings."
        ]
    )
}

/// The recorder with its connector, and what it adds to the sender, in % of a core.
private func recorderCost(on kind: String, seconds: Double) throws -> [Double] {
    let scene = try RecordStage(kind)
    func sender() throws -> Double { try scene.sender.cpuSeconds() + scene.capture.cpuSeconds() }
    func share(_ body: () throws -> Double) throws -> Double {
        let (before, start): (Double, Instant) = (try body(), MonotonicClock.now())
        sleep(seconds: seconds)
        return (try body() - before) / secondsSince(start) * 100
    }
    let without = try share(sender)
    let recorder = try scene.record()
    try scene.wait(for: recorder) { !scene.recordings.isEmpty }
    sleep(seconds: 2)
    let connector = try scene.connector(of: recorder)
    let senderBefore = try sender()
    let start: Instant = MonotonicClock.now()
    let cost = try share { try recorder.cpuSeconds() + processorSeconds(of: connector) }
    let with = (try sender() - senderBefore) / secondsSince(start) * 100
    return [cost, with - without]
}

private func ffmpegCost(on kind: String, seconds: Double) throws -> Double {
    let scene = try RecordStage(kind)
    let size = EncoderSettings.size
    let ffmpeg = try ChildProcess(
        "ffmpeg",
        [
            "-loglevel", "error", "-nostdin", "-f", "x11grab", "-framerate", "30", "-video_size", "\(scene.stage.size)",
            "-i", scene.stage.display, "-vf", "scale=\(size.width):\(size.height),\(EncoderSettings.ffmpegFilter)",
        ] + EncoderSettings.ffmpeg + ["\(scene.files.path)/ffmpeg.webm"]
    )
    sleep(seconds: 2)
    let (before, start): (Double, Instant) = (try ffmpeg.cpuSeconds(), MonotonicClock.now())
    sleep(seconds: seconds)
    try ffmpeg.requireRunning()
    return (try ffmpeg.cpuSeconds() - before) / secondsSince(start) * 100
}

// MARK: - Memory

private func recordMemorySection(_ options: RecordOptions) -> Section {
    var (plain, replay) = (Samples(), Samples())
    plain.record { try recorderMemory([], seconds: 10) }
    replay.record { try recorderMemory(["--replay", "60s"], seconds: 70) }
    var table = Table(["motion at 2.5 Mb/s", "recorder MB", "its connector MB"])
    for (name, samples) in [("into files", plain), ("60 s of replay", replay)] {
        table.rows.append([name, samples.median()?.text(1) ?? samples.failureText, samples.median(1)?.text(1) ?? ""])
    }
    return Section(
        title: "Memory of a recorder",
        table: table,
        goals: [
            goal("memory of a recorder", plain.median(), atMost: 12, "MB", digits: 1, only: "memory"),
            goal("memory with 60 s of replay", replay.median(), atMost: 40, "MB", digits: 1, only: "memory"),
        ],
        notes: ["The proportional set size, after the memory is full."]
    )
}

private func recorderMemory(_ arguments: [String], seconds: Double) throws -> [Double] {
    let scene = try RecordStage("motion")
    let recorder = try scene.record(arguments)
    try scene.waitUntilItRuns(recorder)
    sleep(seconds: seconds)
    return [try recorder.memory(), try proportionalMemory(of: scene.connector(of: recorder))]
}

// MARK: - Speed

private func recordSpeedSection(_ options: RecordOptions) -> Section {
    var (first, cut, stop, trigger, repair) = (Samples(), Samples(), Samples(), Samples(), Samples())
    for _ in 0..<max(5, options.run.rounds) {
        first.record {
            let scene = try RecordStage("typing")
            let start: Instant = MonotonicClock.now()
            let recorder = try scene.record()
            try scene.wait(for: recorder) { scene.recordings.values.contains { $0 > 4096 } }
            let time = secondsSince(start) * 1000
            sleep(seconds: 1)
            cut.record { try milliseconds { try scene.run("record", "cut") } }
            stop.record { milliseconds { recorder.stop() } }
            guard scene.recordings.keys.allSatisfy({ $0.hasSuffix(".webm") }) else {
                throw BenchError("a file is not whole")
            }
            return [time]
        }
        trigger.record {
            let scene = try RecordStage("still")
            let events = "\(scene.files.path)/events"
            let recorder = try scene.record(["--replay", "10s", "--events", events])
            try scene.waitUntilItRuns(recorder)
            sleep(seconds: 1)
            return try milliseconds {
                try scene.run("record", "trigger")
                try scene.wait(for: recorder) {
                    (try? String(contentsOfFile: events, encoding: .utf8))?.contains("clip_begun") ?? false
                }
            }
        }
    }
    repair.record {
        let scene = try RecordStage("still")
        try writeTornFile("\(scene.files.path)/default-2026-01-01T00-00-00Z.webm.part", bytes: 1 << 30)
        let start: Instant = MonotonicClock.now()
        let recorder = try scene.record()
        try scene.wait(for: recorder) { recorder.errorText.contains("it is whole now") }
        return [secondsSince(start)]
    }
    var table = Table(["until", "median"])
    table.rows = [
        [
            "the first frame is in the file, from the command on",
            first.median().map { "\($0.text(0)) ms" } ?? first.failureText,
        ],
        ["\"record cut\" has a whole file", cut.median().map { "\($0.text(0)) ms" } ?? cut.failureText],
        ["Ctrl-C has a whole file", stop.median().map { "\($0.text(0)) ms" } ?? stop.failureText],
        ["\"record trigger\" has begun a clip", trigger.median().map { "\($0.text(0)) ms" } ?? trigger.failureText],
        [
            "a torn file of 1 GiB is whole, from the start of a recorder on",
            repair.median().map { "\($0.text(2)) s" } ?? repair.failureText,
        ],
    ]
    return Section(
        title: "How soon a recorder does what it is asked for",
        table: table,
        goals: [
            goal("record to first frame in the file", first.median(), atMost: 300, "ms", digits: 0, only: "speed"),
            goal("record cut", cut.median(), atMost: 200, "ms", digits: 0, only: "speed"),
            goal("end of a recorder", stop.median(), atMost: 200, "ms", digits: 0, only: "speed"),
            goal("trigger to clip_begun", trigger.median(), atMost: 100, "ms", digits: 0, only: "speed"),
            goal("repair of 1 GiB", repair.median(), atMost: 2, "s", only: "speed"),
        ],
        notes: ["With the start of the command itself."]
    )
}

private func milliseconds(_ body: () throws -> Void) rethrows -> [Double] {
    let start: Instant = MonotonicClock.now()
    try body()
    return [secondsSince(start) * 1000]
}

/// A recording that was not ended: 30 pictures a second of noise, a keyframe each ten seconds.
private func writeTornFile(_ path: String, bytes: Int) throws {
    let tracks = WebMTracks(codec: .vp8, dimensions: (1280, 720), av1: nil, sound: nil)
    var (writer, head) = WebMWriter.begin(tracks, title: nil, date: 1_767_225_600)
    guard let file = fopen(path, "w") else { throw BenchError("cannot write \(path)") }
    defer { fclose(file) }
    fwrite(head, 1, head.count, file)
    let picture = (0..<20_000).map { _ in UInt8.random(in: 0...255) }
    var number = 0
    while Int(writer.position) < bytes {
        let time = Duration.seconds(number) / 30
        let addition = writer.add(picture, to: .picture, at: time, isKeyframe: number % 300 == 0)
        if let patch = addition.patch {
            fseek(file, Int(patch.offset), SEEK_SET)
            fwrite(patch.bytes, 1, patch.bytes.count, file)
            fseek(file, 0, SEEK_END)
        }
        fwrite(addition.head, 1, addition.head.count, file)
        fwrite(picture, 1, picture.count, file)
        number += 1
    }
    // Within a picture.
    fflush(file)
    ftruncate(fileno(file), off_t(writer.position) - 1000)
}

// MARK: - The live picture

private func recordLiveSection(_ options: RecordOptions) -> Section {
    var (alone, recorded) = (Samples(), Samples())
    for _ in 0..<options.run.rounds {
        alone.record { try latency(of: .oriel, on: "counter", seconds: 2 * options.run.seconds) }
        recorded.record {
            try latency(of: .oriel, on: "counter", seconds: 2 * options.run.seconds) { broadcast in
                let files = try TemporaryFolder()
                let recorder = try ChildProcess(
                    sibling("oriel"),
                    ["record", "--dir", broadcast.directory, "--to", files.path]
                )
                return (recorder, files)
            }
        }
    }
    var table = Table(["paint to decoded", "p50 ms", "p95 ms"])
    for (name, samples) in [("alone", alone), ("with a recorder", recorded)] {
        table.rows.append([name, samples.median()?.text(1) ?? samples.failureText, samples.median(1)?.text(1) ?? ""])
    }
    return Section(
        title: "The live picture beside a recorder, small change at 7 Hz",
        table: table,
        goals: [
            goal(
                "latency with a recorder, to that without",
                ratio(recorded.median(), alone.median()),
                atMost: 1.1,
                "times",
                only: "live"
            )
        ]
    )
}

// MARK: - A still hour

private func recordHourSection(_ options: RecordOptions) -> Section {
    var samples = Samples()
    let seconds = options.minutes * 60
    samples.record {
        let scene = try RecordStage("still")
        let recorder = try scene.record()
        try scene.wait(for: recorder) { !scene.recordings.isEmpty }
        sleep(seconds: 5)
        let connector = try scene.connector(of: recorder)
        func cpu() throws -> Double {
            try recorder.cpuSeconds() + scene.sender.cpuSeconds() + scene.capture.cpuSeconds()
                + processorSeconds(of: connector)
        }
        func bytes() -> Int { scene.recordings.values.reduce(0, +) }
        let (cpuBefore, first, start): (Double, Int, Instant) = (try cpu(), bytes(), MonotonicClock.now())
        sleep(seconds: seconds)
        let (used, grown) = (try cpu() - cpuBefore, bytes() - first)
        let (passed, now) = (secondsSince(start), Date().timeIntervalSince1970)
        recorder.stop()
        let name = try scene.recordings.keys.first.map { $0 } ?? { throw BenchError("there is no file") }()
        let (duration, date) = try scene.probe(name)
        let scale = 3600 / passed
        return [
            (Double(first) + Double(grown) * scale) / 1e6, used * scale, abs(duration - (now - date)) * 1000,
        ]
    }
    var table = Table(["a still screen", "measured"])
    table.rows = [
        ["MB an hour", samples.median()?.text(2) ?? samples.failureText],
        ["s of CPU an hour, all processes", samples.median(1)?.text(2) ?? ""],
        ["ms between its length and the clock", samples.median(2)?.text(0) ?? ""],
    ]
    let length =
        options.minutes < 60 ? "\(options.minutes.text(0)) minutes, scaled" : "\(options.minutes.text(0)) minutes"
    return Section(
        title: "An hour of a still screen (\(length))",
        table: table,
        goals: [
            goal("bytes of a still hour", samples.median(), atMost: 1, "MB", only: "hour"),
            goal("CPU of a still hour, all processes", samples.median(1), atMost: 2, "s", only: "hour"),
            goal("length of a recording, to the clock", samples.median(2), atMost: 50, "ms", digits: 0, only: "hour"),
        ]
    )
}

// MARK: - Deaths

private func recordKillSection(_ options: RecordOptions) -> Section {
    var lost = Samples()
    do {
        let scene = try RecordStage("typing")
        for _ in 0..<options.kills {
            lost.record {
                let known = Set(scene.recordings.keys)
                let recorder = try scene.record()
                try scene.wait(for: recorder) { scene.recordings.keys.contains { $0.hasSuffix(".part") } }
                sleep(seconds: .random(in: 0.02...1.5))
                recorder.crash()
                let end = Date().timeIntervalSince1970
                // The next one makes it whole.
                let next = try scene.record()
                try scene.wait(for: next) {
                    scene.recordings.keys.contains { !known.contains($0) && $0.hasSuffix(".webm") }
                }
                next.crash()
                let fresh = scene.recordings.keys.filter { !known.contains($0) && $0.hasSuffix(".webm") }
                guard let name = fresh.min() else { throw BenchError("there is no file") }
                let (duration, date) = try scene.probe(name)
                try scene.requirePlayable(name)
                return [max(0, end - (date + duration))]
            }
        }
    } catch {
        lost.record { throw error }
    }
    var table = Table(["kill -9 of a recorder, typing", "median s", "most s"])
    let most = lost.values.map { $0[0] }.max()
    table.rows.append([
        "\(lost.values.count) of \(options.kills)", lost.median()?.text(2) ?? lost.failureText, most?.text(2) ?? "",
    ])
    return Section(
        title: "What a killed recorder has lost",
        table: table,
        goals: [
            goal(
                "lost by kill -9",
                lost.values.count == options.kills ? most : nil,
                atMost: 1,
                "s",
                only: "kill --kills \(options.kills)"
            )
        ],
        notes: ["From the end of the repaired file, by ffprobe, to the kill. ffmpeg and GStreamer decode each."]
    )
}
