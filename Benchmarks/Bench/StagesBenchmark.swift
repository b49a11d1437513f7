import Foundation
import Posix

/// Where the processor time and the bytes of each workload go, by Oriel's own account (`--stats`).
func stagesSection(_ options: RunOptions) -> Section {
    let stages = ["grab", "compare", "convert", "scale", "encode", "send"]
    var times = Table(["ms per tick"] + stages + ["all else", "sum"])
    var notes = [
        "User and system time of the capture process (grab, compare, convert) and of the sender. All else is waking up, "
            + "events, the pointer, heartbeats and the network thread."
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
    }
    return Section(title: "CPU per 1/30 s by stage, 1080p to 720p VP8", table: times, notes: notes)
}

/// Bytes that are touched for each frame that is published.
func trafficSection(_ options: RunOptions) -> Section {
    var table = Table(["kB per frame", "grabbed", "converted", "scaled", "encoded"])
    var notes = [
        "Grabbed is BGRX from the X server, converted the NV12 written, scaled the NV12 read, encoded what is sent. The "
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

/// Milliseconds in 1/30 s, of the six stages, of all else, and in sum.
private func stageTimes(on kind: String, seconds: Double) throws -> [Double] {
    let work = try AccountedWork(kind, seconds: seconds)
    let stages =
        ["grab_ms", "compare_ms", "convert_ms"].map { work.capture($0) / work.captureTicks }
        + ["scale_ms", "encode_ms", "send_ms"].map { work.sender($0) / work.senderTicks }
    let sum = work.cpu * 1000 / work.ticks
    return stages + [sum - stages.reduce(0, +), sum]
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

/// What Oriel's two processes did while they were left alone with a workload.
private struct AccountedWork {
    private let capture: (first: [String: Double], last: [String: Double])
    private let sender: (first: [String: Double], last: [String: Double])
    /// Seconds of processor time of both processes, and 1/30 s in the time over which they were taken.
    let cpu: Double
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
        func used() throws -> Double { try capture.cpuSeconds() + sender.cpuSeconds() }
        let first = (try Self.lastLine(of: files.capture), try Self.lastLine(of: files.sender))
        let (start, cpuBefore) = (MonotonicClock.now(), try used())
        sleep(seconds: seconds)
        (cpu, ticks) = (try used() - cpuBefore, secondsSince(start) * 30)
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
