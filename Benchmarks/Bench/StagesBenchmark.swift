import Foundation
import Pixels
import Posix
import Time

/// The processor time and the bytes of each workload by stages, by Oriel's own account (`--stats`).
func stagesSection(_ options: RunOptions) -> Section {
    let stages = ["grab", "compare", "convert", "capture in all", "scale", "encode", "send", "sender in all"]
    var times = Table(["ms per tick"] + stages)
    var goals: [Goal] = []
    var notes = [
        "User and system time of both processes. What is not in a stage is waking up, events, the pointer, heartbeats and "
            + "the network thread."
    ]
    for kind in workloads {
        var sample = Samples()
        for _ in 0..<options.rounds { sample.record { try stageTimes(on: kind, seconds: options.seconds) } }
        guard sample.median() != nil else {
            notes.append("\(kind): \(sample.failureText)")
            continue
        }
        let medians = (0..<8).map { sample.median($0)! }
        times.rows.append([kind] + medians.map { $0.text(3) })
        if kind == "typing" {
            goals.append(captureGoal("capture process, typing", medians[3], 0.1, "ms per tick"))
        }
        if kind == "motion" {
            let copies = copyMilliseconds()
            notes.append(
                "A copy of the picture as it is grabbed and one as it is published take \(copies.text(2)) ms together."
            )
            goals.append(
                captureGoal("capture process, all of 1080p changes", medians[3] / copies, 3.6, "× the two copies")
            )
        }
    }
    return Section(title: "CPU per 1/30 s by stage, 1080p to 720p VP8", table: times, goals: goals, notes: notes)
}

/// Bytes touched for each published frame.
func trafficSection(_ options: RunOptions) -> Section {
    var table = Table(["kB per frame", "grabbed", "converted", "scaled", "encoded"])
    var notes = [
        "Grabbed is BGRX from the X server, converted the NV12 written, scaled the NV12 read, encoded the frames sent. The "
            + "whole screen is 8294 kB of BGRX and 3110 kB of NV12. Without frames there is nothing to divide by."
    ]
    for kind in workloads where kind != "still" {
        var sample = Samples()
        sample.record { try traffic(on: kind, seconds: options.seconds) }
        guard sample.median() != nil else {
            notes.append("\(kind): \(sample.failureText)")
            continue
        }
        table.rows.append([kind] + (0..<4).map { sample.median($0)!.text(1) })
    }
    return Section(title: "Bytes moved", table: table, notes: notes)
}

private func captureGoal(_ measure: String, _ value: Double, _ limit: Double, _ unit: String) -> Goal {
    Goal(measure, value, atMost: limit, unit: unit, command: "tools/bench change")
}

/// One copy of a BGRX picture and one of an NV12 picture of 1080p.
private func copyMilliseconds() -> Double {
    let pixels = Stage.size.width * Stage.size.height
    let source = UnsafeMutableRawBufferPointer.allocate(byteCount: pixels * 4, alignment: 64)
    let target = UnsafeMutableRawBufferPointer.allocate(byteCount: pixels * 4, alignment: 64)
    defer {
        source.deallocate()
        target.deallocate()
    }
    source.initializeMemory(as: UInt8.self, repeating: 1)
    let times = interleavedMilliseconds(
        turns: 50,
        [pixels * 4, pixels * 3 / 2].map { count in
            { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[..<count])) }
        }
    )
    return times.reduce(0, +)
}

/// Milliseconds in 1/30 s, of the stages and the whole of each process.
private func stageTimes(on kind: String, seconds: Double) throws -> [Double] {
    let work = try AccountedWork(kind, seconds: seconds)
    let capture = ["grab_ms", "compare_ms", "convert_ms"].map { work.capture($0) / work.captureTicks }
    let sender = ["scale_ms", "encode_ms", "send_ms"].map { work.sender($0) / work.senderTicks }
    return capture + [work.captureCPU * 1000 / work.ticks] + sender + [work.senderCPU * 1000 / work.ticks]
}

private func traffic(on kind: String, seconds: Double) throws -> [Double] {
    let work = try AccountedWork(kind, seconds: seconds)
    let frames = work.capture("frames_published") / work.captureTicks
    func perFrame(_ bytes: Double, _ ticks: Double) -> Double { bytes / ticks / max(frames, 0.001) / 1000 }
    return [
        perFrame(work.capture("bytes_grabbed"), work.captureTicks),
        perFrame(work.capture("bytes_converted"), work.captureTicks),
        perFrame(work.sender("bytes_scaled"), work.senderTicks),
        perFrame(work.sender("bytes_encoded"), work.senderTicks),
    ]
}

/// The work of Oriel's two processes during a workload.
private struct AccountedWork {
    private let capture: (first: [String: Double], last: [String: Double])
    private let sender: (first: [String: Double], last: [String: Double])
    /// Seconds of processor time, and the number of 1/30 s over which they were measured.
    let captureCPU: Double
    let senderCPU: Double
    let ticks: Double

    init(_ kind: String, seconds: Double) throws {
        let stage = try Stage(kind)
        let drain = try PortDrain()
        defer { drain.stop() }
        let folder = try TemporaryFolder()
        let files = (capture: folder.path + "/capture", sender: folder.path + "/sender")
        let capture = try Contender.startCapture(stage.display, in: folder, ["--stats", files.capture])
        let sender = try Contender.startSender(drain.port, in: folder, ["--stats", files.sender])
        sleep(seconds: 3)
        let first = (try Self.lastLine(of: files.capture), try Self.lastLine(of: files.sender))
        let (start, before): (Instant, _) = (MonotonicClock.now(), (try capture.cpuSeconds(), try sender.cpuSeconds()))
        sleep(seconds: seconds)
        captureCPU = try capture.cpuSeconds() - before.0
        senderCPU = try sender.cpuSeconds() - before.1
        ticks = secondsSince(start) * 30
        try capture.requireRunning()
        try sender.requireRunning()
        self.capture = (first.0, try Self.lastLine(of: files.capture))
        self.sender = (first.1, try Self.lastLine(of: files.sender))
        guard captureTicks > 0, senderTicks > 0 else { throw BenchError("the processes wrote no statistics") }
    }

    func capture(_ name: String) -> Double { (capture.last[name] ?? 0) - (capture.first[name] ?? 0) }
    func sender(_ name: String) -> Double { (sender.last[name] ?? 0) - (sender.first[name] ?? 0) }
    var captureTicks: Double { capture("time_s") * 30 }
    var senderTicks: Double { sender("time_s") * 30 }

    private static func lastLine(of path: String) throws -> [String: Double] {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        guard let line = text.split(separator: "\n").last,
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        else { throw BenchError("no statistics in \(path)") }
        return object.compactMapValues { ($0 as? NSNumber)?.doubleValue }
    }
}
