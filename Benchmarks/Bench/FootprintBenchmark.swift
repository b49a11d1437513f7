import FrameBridge
import Glibc
import Posix
import Time

/// The memory of Oriel's two processes, and the time of each to its first result.
func footprintSection(_ options: RunOptions) -> Section {
    var memory = Samples()
    var start = Samples()
    var attach = Samples()
    for _ in 0..<options.rounds { memory.record { [try memoryInUse(seconds: min(options.seconds, 5))] } }
    do {
        let stage = try Stage("still")
        _ = try? startUp(on: stage)  // warms the caches of the file system
        for _ in 0..<5 {
            var times: (start: Double, attach: Double)?
            start.record {
                times = try startUp(on: stage)
                return [times!.start]
            }
            if let times { attach.record { [times.attach] } }
        }
    } catch {
        start.record { throw error }
    }

    var table = Table(["oriel", "median"])
    table.rows = [
        ["memory of both processes, typing", memory.median().map { $0.text(1) + " MB" } ?? memory.failureText],
        ["start to first frame", start.median().map { $0.text(0) + " ms" } ?? start.failureText],
        ["attach to first packet", attach.median().map { $0.text(0) + " ms" } ?? attach.failureText],
    ]
    func goal(_ name: String, _ sample: Samples, _ limit: Double, _ unit: String) -> Goal {
        Goal(name, sample.median(), atMost: limit, unit: unit, digits: 0, command: pipelineCommand)
    }
    return Section(
        title: "Memory and start-up",
        table: table,
        goals: [
            goal("memory of both processes", memory, 90, "MB"),
            goal("start to first frame published", start, 150, "ms"),
            goal("attach to first packet", attach, 150, "ms"),
        ],
        notes: ["Memory is the proportional set size. Start-up is warm."]
    )
}

private func memoryInUse(seconds: Double) throws -> Double {
    let stage = try Stage("typing")
    let drain = try PortDrain()
    defer { drain.stop() }
    let broadcast = try Contender.oriel.start(stage, drain.port)
    sleep(seconds: seconds)
    try broadcast.requireRunning()
    return try broadcast.processes.map { try $0.memory() }.reduce(0, +)
}

/// Milliseconds from the start of each process to its first result.
private func startUp(on stage: Stage) throws -> (start: Double, attach: Double) {
    let folder = try TemporaryFolder()
    var reader = try FrameReader(directory: try BridgeDirectory(path: folder.path + "/bridge", create: true))
    let started: Instant = MonotonicClock.now()
    let capture = try Contender.startCapture(stage.display, in: folder)
    while true {
        if case .frame = try reader.read({ _ in }) { break }
        try capture.requireRunning()
        guard secondsSince(started) < 5 else { throw BenchError("no frame was published within 5 s") }
        reader.wait(until: MonotonicClock.now() + .milliseconds(1))
    }
    let start = secondsSince(started) * 1000

    let port = try freePortPair()
    let media = try UDPSocket(family: AF_INET, port: port)
    let control = try UDPSocket(family: AF_INET, port: port + 1)
    defer { _ = control.raw }
    var buffer = [UInt8](repeating: 0, count: 2048)
    let attached: Instant = MonotonicClock.now()
    let sender = try Contender.startSender(port, in: folder)
    waitReadable(media.raw, until: attached + .seconds(5))
    let attach = secondsSince(attached) * 1000
    guard (try? media.receive(into: &buffer)) != nil else {
        try sender.requireRunning()
        throw BenchError("no packet arrived within 5 s")
    }
    return (start, attach)
}
