import Posix
import TestSupport
import Time

/// Processor time of a sender with one viewer, and with two more calls on the same encode. They come and go while it
/// runs: between two senders, the encode varies by more than a call costs.
func furtherCallsSection(_ options: RunOptions) -> Section {
    var (forwarded, decoded) = (Samples(), Samples())
    for _ in 0..<options.rounds {
        forwarded.record { try [costOfCallsToJanus(seconds: options.seconds)] }
        decoded.record { try [costOfCallsToDecoders(seconds: options.seconds)] }
    }
    var table = Table(["two further calls", "CPU of the sender, % of a core each"])
    for (name, samples) in [
        ("two rooms of a Janus", forwarded), ("a room with Chromium, WHIP with libwebrtc", decoded),
    ] {
        table.rows.append([name, samples.median()?.text(2) ?? samples.failureText])
    }
    return Section(
        title: "Several calls on one encode, text that scrolls",
        table: table,
        goals: [
            Goal(
                "CPU of a second and third call, each",
                forwarded.median(),
                atMost: 0.5,
                unit: "% of a core",
                digits: 2,
                command: "\(callsCommand) --only further"
            )
        ],
        notes: [
            "Chromium and libwebrtc decode on the same two cores, which makes the encode that all share take longer: that is in "
                + "the second row. Janus decodes nothing."
        ]
    )
}

private func costOfCallsToJanus(seconds: Double) throws -> Double {
    let scene = try CallsStage("scrolling")
    let rooms = ["1", "2"]
    let janus = try Janus(in: scene.network, rooms: rooms.map { ($0, "publishers = 1") })
    defer { withExtendedLifetime(janus) {} }
    return try costOfCalls(rooms.map { Janus.call($0) }, beside: scene, seconds: seconds) {}
}

private func costOfCallsToDecoders(seconds: Double) throws -> Double {
    let scene = try CallsStage("scrolling")
    let rooms = try scene.rooms()
    defer { rooms.stop() }
    let inRoom = try scene.browser()
    let server = try scene.mediaServer()
    return try costOfCalls([CallsStage.room, CallsStage.endpoint], beside: scene, seconds: seconds) {
        try waitForFrames(inRoom)
        try server.waitForFrames()
    }
}

/// The cost of each of some calls for a sender with a viewer, in % of a core.
///
/// - Parameter wait: waits until all of them have the picture.
private func costOfCalls(
    _ calls: [String],
    beside scene: CallsStage,
    seconds: Double,
    wait: () throws -> Void
) throws -> Double {
    let sender = try scene.attach("web")
    defer { sender.stop() }
    sleep(seconds: 1)
    try sender.requireRunning()
    let load = [Counterparts.load, "http://\(Network.senderAddress):8080/whep", WebStage.token, "1", "3600"]
    let viewer = try Subprocess(scene.network.atViewer(load))
    defer { viewer.stop() }
    let before = try cpu(of: sender, seconds: seconds)
    for call in calls { try scene.run("attach", "--running", call) }
    try wait()
    let during = try cpu(of: sender, seconds: seconds)
    for call in calls { try scene.run("leave", call) }
    let after = try cpu(of: sender, seconds: seconds)
    return (during - (before + after) / 2) / Double(calls.count)
}

private func cpu(of sender: ChildProcess, seconds: Double) throws -> Double {
    sleep(seconds: 3)
    let before = try sender.cpuSeconds()
    let start: Instant = MonotonicClock.now()
    sleep(seconds: seconds)
    return (try sender.cpuSeconds() - before) / secondsSince(start) * 100
}
