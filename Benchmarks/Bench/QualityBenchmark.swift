import Foundation
import Glibc
import Pixels
import Posix
import Synchronization
import TestSupport
import Time

let qualityCommand = "tools/bench quality"

/// The error of received pictures during each workload.
func qualitySections(_ options: RunOptions) -> [Section] { [qualitySection(options), gallerySection(options)] }

private func qualitySection(_ options: RunOptions) -> Section {
    let contenders = [Contender.oriel, .orielAV1, .ffmpegByArea, .plainFFmpegByArea]
    var table = Table(["luma PSNR in dB, median of the run"] + contenders.map(\.name))
    var goals: [Goal] = []
    var notes = [
        "Each grab of the screen, by an independent program, is compared with the nearest picture received within 0.8 s "
            + "before and 0.4 s after it. Oriel's against a grab scaled and converted by Oriel's kernels, ffmpeg's by "
            + "ffmpeg's own, both by area: a sharper filter makes other pictures, which are not as hard to encode."
    ]
    for kind in workloads {
        var samples = contenders.map { _ in Samples() }
        for _ in 0..<min(options.rounds, 3) {
            for (index, contender) in contenders.enumerated() {
                samples[index].record { [try quality(of: contender, on: kind)] }
            }
        }
        table.rows.append([kind] + samples.map { $0.median()?.text(1) ?? "failed" })
        for (contender, sample) in zip(contenders, samples) where sample.median() == nil {
            notes.append("\(contender.name), \(kind): \(sample.failureText)")
        }
        let gain = samples[0].median().flatMap { ours in samples[2].median().map { ours - $0 } }
        goals.append(
            Goal(
                "luma PSNR, \(kind), above ffmpeg's",
                gain,
                atLeast: 0,
                unit: "dB",
                digits: 2,
                command: qualityCommand
            )
        )
        if kind == "scrolling" {
            let reached = samples[1].median()
            goals.append(
                Goal(
                    "luma PSNR, scrolling, AV1",
                    reached,
                    atLeast: 41,
                    unit: "dB",
                    digits: 1,
                    command: qualityCommand
                )
            )
        }
        if kind == "still" {
            goals.append(
                Goal(
                    "luma PSNR of the still desktop",
                    samples[0].median(),
                    atLeast: 45,
                    unit: "dB",
                    digits: 1,
                    command: qualityCommand
                )
            )
        }
    }
    return Section(title: "Quality at 2.5 Mb/s", table: table, goals: goals, notes: notes)
}

/// Received pictures, I420, with their times.
final class Received: Sendable {
    private let pictures = Mutex<[(picture: [UInt8], time: Instant)]>([])
    private let isKept = Atomic<Bool>(false)

    func keep() { isKept.store(true, ordering: .relaxed) }

    func note(_ picture: [UInt8], _ time: Instant) {
        pictures.withLock {
            // At least the picture on display, as a still one is not sent again.
            if !isKept.load(ordering: .relaxed) { $0.removeAll() }
            $0.append((picture, time))
        }
    }

    var all: [(picture: [UInt8], time: Instant)] { pictures.withLock { $0 } }
}

/// A running contender, and its receiver's picture.
final class WatchedContender {
    let received = Received()
    let broadcast: Broadcast
    private let receiver: Receiver
    /// Receives, unread, packets that would otherwise be refused. ffmpeg does so itself.
    private let control: UDPSocket

    init(_ contender: Contender, on stage: Stage) throws {
        let port = try freePortPair()
        control = try UDPSocket(family: AF_INET, port: contender.codec == "VP8" ? port + 1 : freePortPair())
        receiver = try Receiver(port: port, codec: contender.codec) { [received] in received.note($0, $1) }
        broadcast = try contender.start(stage, port)
    }

    deinit { receiver.stop() }
}

private func quality(of contender: Contender, on kind: String) throws -> Double {
    // A pointer that moves faster than all grabs is never at the same place for two.
    let stage = try Stage(kind, kind == "pointer" ? ["--rate", "15"] : [])
    let watched = try WatchedContender(contender, on: stage)
    let received = watched.received
    sleep(seconds: 4)
    received.keep()
    var wanted: [(picture: Picture, time: Instant)] = []
    if contender.isOurs {
        let source = Picture(size: Stage.size)
        let rescaler = Rescaler(from: Stage.size, to: EncoderSettings.size)
        var grabs: [(pixels: [UInt8], time: Instant)] = []
        try stage.grab(count: 24, rate: 10) { grabs.append(($0, MonotonicClock.now())) }
        for grab in grabs {
            source.convert(grab.pixels)
            let picture = Picture(size: EncoderSettings.size)
            picture.rescale(source, by: rescaler)
            wanted.append((picture, grab.time))
        }
    } else {
        try stage.grabScaled(count: 24, rate: 10, to: EncoderSettings.size) {
            let picture = Picture(size: EncoderSettings.size)
            picture.takeLuma($0)
            wanted.append((picture, MonotonicClock.now()))
        }
    }
    sleep(seconds: 0.5)
    try watched.broadcast.requireRunning()
    let pictures = received.all
    let best = wanted.compactMap { wanted in
        let shown = pictures.last { $0.time + .milliseconds(800) <= wanted.time }
        let next = pictures.filter {
            $0.time + .milliseconds(800) > wanted.time && $0.time < wanted.time + .milliseconds(400)
        }
        return ([shown].compactMap(\.self) + next).map { wanted.picture.lumaPSNR(of: $0.picture) }.max()
    }
    guard let median = best.median else { throw BenchError("no picture was received") }
    return median
}

extension Contender {
    var codec: String { name == Contender.orielAV1.name ? "AV1" : "VP8" }
}
