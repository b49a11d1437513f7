import Foundation
import Glibc
import Posix
import TestSupport
import Time

let callsCommand = "tools/bench calls"

/// Calls of other servers: the time to the first picture, the time after a server's death or a change of network, and
/// the cost of a further call and of a further viewer of a media server. Each is printed as soon as it is measured.
func callsSections(_ options: RunOptions, only name: String) -> [Section] {
    let sections: [(String, (RunOptions) -> Section)] = [
        ("attach", attachSection), ("restart", restartSection), ("moving", movingSection),
        ("further", furtherCallsSection), ("rooms", roomsSection), ("fan-out", fanOutSection),
    ]
    return sections.filter { name.isEmpty || $0.0.contains(name) }.map { _, measure in
        let section = measure(options)
        section.print()
        return section
    }
}

private func attachSection(_ options: RunOptions) -> Section {
    var (room, whip, janus) = (Samples(), Samples(), Samples())
    let count = 3 * options.rounds
    do {
        let scene = try CallsStage("still")
        let rooms = try scene.rooms()
        defer { rooms.stop() }
        for _ in 0..<count {
            room.record {
                let browser = try scene.browser()
                let start: Instant = MonotonicClock.now()
                let sender = try scene.attach(CallsStage.room)
                defer { sender.stop() }
                try waitForFrames(browser)
                return [secondsSince(start) * 1000]
            }
        }
        for _ in 0..<count {
            whip.record {
                let server = try scene.mediaServer()
                let start: Instant = MonotonicClock.now()
                let sender = try scene.attach(CallsStage.endpoint)
                defer { sender.stop() }
                try server.waitForFrames()
                return [secondsSince(start) * 1000]
            }
        }
        let server = try scene.janus()
        for _ in 0..<count {
            janus.record {
                let browser = try scene.janusViewer()
                sleep(seconds: 0.5)
                let start: Instant = MonotonicClock.now()
                let sender = try scene.attach(Janus.call(CallsStage.janusRoom))
                defer { sender.stop() }
                try waitForFramesOfJanus(browser)
                return [secondsSince(start) * 1000]
            }
        }
        withExtendedLifetime(server) {}
    } catch {
        room.record { throw error }
    }
    return callsSection(
        "From `oriel attach` to the first decoded frame, still screen",
        [
            ("room, the browser is there", room, 500), ("WHIP, libwebrtc", whip, 500),
            ("Janus, the browser is there", janus, 700),
        ],
        goal: { "attach to first decoded frame, \($0)" }
    )
}

private func restartSection(_ options: RunOptions) -> Section {
    var (room, whip, janus) = (Samples(), Samples(), Samples())
    for _ in 0..<options.rounds {
        room.record {
            let scene = try CallsStage("still")
            var rooms = try scene.rooms()
            let browser = try scene.browser()
            let sender = try scene.attach(CallsStage.room)
            defer { sender.stop() }
            try waitForFrames(browser)
            let first = try RoomConnection(of: browser)
            sleep(seconds: 2)
            rooms.crash()
            sleep(seconds: .random(in: 1...4))
            let start: Instant = MonotonicClock.now()
            rooms = try scene.rooms()
            defer { rooms.stop() }
            try first.waitForNext()
            return [secondsSince(start) * 1000]
        }
        whip.record {
            let scene = try CallsStage("still")
            var server = try scene.mediaServer()
            let sender = try scene.attach(CallsStage.endpoint)
            defer { sender.stop() }
            try server.waitForFrames()
            sleep(seconds: 2)
            server.process.kill(SIGKILL)
            _ = try server.process.wait()
            sleep(seconds: .random(in: 1...4))
            server = try scene.mediaServer()
            let start: Instant = MonotonicClock.now()
            try server.waitForFrames()
            return [secondsSince(start) * 1000]
        }
        janus.record {
            let scene = try CallsStage("still")
            let server = try scene.janus()
            let browser = try scene.janusViewer()
            let sender = try scene.attach(Janus.call(CallsStage.janusRoom))
            defer { sender.stop() }
            try waitForFramesOfJanus(browser)
            sleep(seconds: 2)
            try server.kill()
            sleep(seconds: .random(in: 1...4))
            try server.start()
            let start: Instant = MonotonicClock.now()
            try waitForFramesOfJanus(browser)
            return [secondsSince(start) * 1000]
        }
    }
    return callsSection(
        "From the server's return after kill -9 to a decoded frame",
        [("room", room, 2000), ("WHIP", whip, 2000), ("Janus", janus, 2000)],
        goal: { "server killed and back, \($0)" }
    )
}

func callsSection(
    _ title: String,
    _ rows: [(name: String, samples: Samples, limit: Double)],
    goal: (String) -> String
) -> Section {
    var table = Table(["", "median ms", "longest ms"])
    for (name, samples, _) in rows {
        let longest = samples.values.map { $0[0] }.max()
        table.rows.append([name, samples.median()?.text(0) ?? samples.failureText, longest?.text(0) ?? ""])
    }
    return Section(
        title: title,
        table: table,
        goals: rows.map { name, samples, limit in
            Goal(goal(name), samples.median(), atMost: limit, unit: "ms", digits: 0, command: callsCommand)
        }
    )
}

/// The cost of a server of rooms for 2,000 clients that send a message of a kilobyte each second.
private func roomsSection(_ options: RunOptions) -> Section {
    var sample = Samples()
    for _ in 0..<options.rounds { sample.record { try roomsLoad(seconds: max(Int(options.seconds), 5)) } }
    var table = Table(["CPU, % of a core", "MB", "p50 ms", "p99 ms", "lost or disordered"])
    table.rows.append([
        sample.median(0)?.text(1) ?? sample.failureText, sample.median(1)?.text(0) ?? "",
        sample.median(2)?.text(1) ?? "", sample.median(3)?.text(1) ?? "", sample.median(4)?.text(0) ?? "",
    ])
    func goal(_ name: String, _ index: Int, atMost limit: Double, _ unit: String) -> Goal {
        Goal("1,000 rooms: \(name)", sample.median(index), atMost: limit, unit: unit, digits: 1, command: callsCommand)
    }
    return Section(
        title: "`oriel rooms` with 2,000 clients in 1,000 rooms, a message a second each",
        table: table,
        goals: [
            goal("CPU", 0, atMost: 25, "% of a core"), goal("memory", 1, atMost: 100, "MB"),
            goal("a message, p99", 3, atMost: 20, "ms"),
            goal("lost or disordered", 4, atMost: 0, ""),
        ]
    )
}

private func roomsLoad(seconds: Int) throws -> [Double] {
    struct Outcome: Decodable {
        let sent: Int
        let lost: Double
        let disordered: Double
        let p50Ms: Double
        let p99Ms: Double
    }
    let port = 8091
    let server = try ChildProcess(sibling("oriel"), ["rooms", "--listen", "127.0.0.1:\(port)"])
    defer { server.stop() }
    sleep(seconds: 1)
    try server.requireRunning()
    let program =
        Counterparts.python + [Counterparts.path("rooms_load.py"), "127.0.0.1", "\(port)", "1000", "\(seconds)"]
    let load = try Subprocess(program)
    try wait(until: "all have joined: \(load.errorOutput)", timeout: .seconds(60)) { load.output.contains("joined") }
    let before = try server.cpuSeconds()
    let start: Instant = MonotonicClock.now()
    sleep(seconds: Double(seconds))
    let cpu = (try server.cpuSeconds() - before) / secondsSince(start) * 100
    let memory = try server.memory()
    try load.wait(timeout: .seconds(60))
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    guard let line = load.output.split(separator: "\n").last else { throw BenchError("the load said nothing") }
    let outcome = try decoder.decode(Outcome.self, from: Data(line.utf8))
    return [cpu, memory, outcome.p50Ms, outcome.p99Ms, outcome.lost + outcome.disordered]
}
