import Glibc
import Pixels
import Posix

/// How near the received picture of a still desktop is to the screen, 2 s after the sender was started.
func qualitySection(_ options: RunOptions) -> Section {
    var sample = Samples()
    for _ in 0..<options.rounds { sample.record { [try stillQuality()] } }
    var table = Table(["still desktop, 2 s after start", "luma PSNR"])
    table.rows.append(["oriel", sample.median().map { $0.text(1) + " dB" } ?? sample.failureText])
    let goal = Goal(
        "luma PSNR of the still desktop",
        sample.median(),
        atLeast: 40,
        unit: "dB",
        digits: 1,
        command: pipelineCommand
    )
    return Section(
        title: "Quality",
        table: table,
        goals: [goal],
        notes: ["Against an independent grab by ffmpeg, converted and scaled the same way."]
    )
}

private func stillQuality() throws -> Double {
    let stage = try Stage("still")
    let source = Picture(size: Stage.size)
    try stage.grab(count: 1) { source.convert($0) }
    let wanted = Picture(size: EncoderSettings.size)
    wanted.rescale(source, by: Rescaler(from: Stage.size, to: EncoderSettings.size))

    let port = try freePortPair()
    let control = try UDPSocket(family: AF_INET, port: port + 1)
    defer { _ = control.raw }
    let receiver = try Receiver(port: port)
    defer { receiver.stop() }
    let folder = try TemporaryFolder()
    let capture = try Contender.startCapture(stage.display, in: folder)
    sleep(seconds: 1)
    let sender = try Contender.startSender(port, in: folder)
    sleep(seconds: 2)
    let received = receiver.lastFrame
    try capture.requireRunning()
    try sender.requireRunning()
    guard let received else { throw BenchError("no picture was received within 2 s") }
    return wanted.lumaPSNR(of: received)
}
