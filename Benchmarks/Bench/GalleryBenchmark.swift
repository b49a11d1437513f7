import Glibc
import Pixels
import Posix
import TestSupport
import Time

/// The error of colours in received pictures, on screens of real desktops: each plane, soon after a change of the whole
/// screen, and after some rest.
func gallerySection(_ options: RunOptions) -> Section {
    let contenders = [Contender.oriel, .orielAV1, .ffmpegByArea]
    var table = Table(["PSNR in dB: Y, U, V; median of \(GalleryPicture.names.count) screens"] + contenders.map(\.name))
    var goals: [Goal] = []
    var notes = [
        "Each screen of `Tests/Gallery` stands for four seconds. It is grabbed, scaled by area and converted as each contender "
            + "does, and compared with what that contender's receiver shows one second after the change, and at the end.",
        "The receiver of AV1, ffmpeg, shows a picture when the next one comes, which for a screen at rest is up to two seconds "
            + "later, so AV1 is measured at rest only.",
    ]
    var samples = contenders.map { _ in
        (after: [Samples(), Samples(), Samples()], rest: [Samples(), Samples(), Samples()])
    }
    for _ in 0..<min(options.rounds, 3) {
        for (index, contender) in contenders.enumerated() {
            do {
                let found = try galleryQuality(of: contender)
                for plane in 0..<3 {
                    if contender.codec == "VP8" { samples[index].after[plane].record { [found.after[plane]] } }
                    samples[index].rest[plane].record { [found.rest[plane]] }
                }
            } catch {
                notes.append("\(contender.name): \(error)")
            }
        }
    }
    for (name, planes) in [("one second after a change", samples.map(\.after)), ("at rest", samples.map(\.rest))] {
        table.rows.append(
            [name] + planes.map { $0.map { $0.median()?.text(1) ?? "–" }.joined(separator: ", ") }
        )
        for (plane, letter) in ["Y", "U", "V"].enumerated() {
            let gain = planes[0][plane].median().flatMap { ours in planes[2][plane].median().map { ours - $0 } }
            goals.append(
                Goal(
                    "gallery, \(name): \(letter) above ffmpeg's",
                    gain,
                    atLeast: 0,
                    unit: "dB",
                    digits: 2,
                    command: qualityCommand
                )
            )
        }
    }
    return Section(title: "Colours of the gallery at 2.5 Mb/s", table: table, goals: goals, notes: notes)
}

/// The medians of all screens, of Y, U and V.
private func galleryQuality(of contender: Contender) throws -> (after: [Double], rest: [Double]) {
    let pictures = GalleryPicture.names.flatMap { ["--picture", GalleryPicture.path(of: $0)] }
    let stage = try Stage("pictures", ["--rate", "0.25"] + pictures, capturingOutput: true)
    let watched = try WatchedContender(contender, on: stage)
    let painted = Sightings()
    let output = stage.workload.outputDescriptor
    _ = try Thread { readCounterLines(output, into: painted) }
    var (after, rest) = ([[Double]](repeating: [], count: 3), [[Double]](repeating: [], count: 3))
    for _ in GalleryPicture.names {
        let known = painted.all.keys.max() ?? 0
        try wait(until: "the next screen is there", timeout: .seconds(15)) { painted.all.keys.max() ?? 0 > known }
        let changed: Instant = MonotonicClock.now()
        let wanted = try wantedPicture(of: stage, for: contender)
        sleep(seconds: max(0, 1 - secondsSince(changed)))
        try note(watched.received, wanted, in: &after)
        sleep(seconds: max(0, 3.6 - secondsSince(changed)))
        try note(watched.received, wanted, in: &rest)
    }
    try watched.broadcast.requireRunning()
    return (after.map { $0.median! }, rest.map { $0.median! })
}

private func note(_ received: Received, _ wanted: Picture, in planes: inout [[Double]]) throws {
    guard let last = received.all.last else { throw BenchError("no picture was received") }
    for (plane, decibels) in wanted.planePSNR(of: last.picture).enumerated() { planes[plane].append(decibels) }
}

/// The screen, scaled and converted in the contender's way.
private func wantedPicture(of stage: Stage, for contender: Contender) throws -> Picture {
    if contender.isOurs { return try stage.wantedPicture() }
    let wanted = Picture(size: EncoderSettings.size)
    try stage.grabScaled(count: 1, rate: 30, to: EncoderSettings.size) { wanted.take($0) }
    return wanted
}
