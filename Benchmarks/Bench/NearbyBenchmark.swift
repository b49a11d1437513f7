import Foundation
import Glibc
import Posix
import TestSupport
import Time

private let nearbyCommand = "tools/bench nearby"

/// Devices nearby: how soon they are found and gone, their files, and what they cost.
func nearbySections(_ options: RunOptions, only name: String) -> [Section] {
    let sections: [(String, (RunOptions) -> Section)] = [
        ("found", nearbyFoundSection), ("link", nearbyLinkSection), ("file", nearbyFileSection),
        ("idle", nearbyIdleSection),
    ]
    return sections.filter { name.isEmpty || $0.0.contains(name) }.map { _, measure in
        let section = measure(options)
        section.print()
        return section
    }
}

private func goal(
    _ name: String,
    _ value: Double?,
    atMost limit: Double,
    _ unit: String,
    digits: Int = 0,
    only: String
) -> Goal {
    Goal(name, value, atMost: limit, unit: unit, digits: digits, command: "\(nearbyCommand) --only \(only)")
}

// MARK: - Found and gone

private func nearbyFoundSection(_ options: RunOptions) -> Section {
    var samples = Samples()
    samples.record { try found(count: 8 * options.rounds) }
    var table = Table(["beacon", "p50 ms", "p95"])
    let names = ["the command is started → the other device shows it", "its process is killed → it is not connected"]
    for (index, name) in names.enumerated() {
        table.rows.append([
            name, samples.median(2 * index)?.text(0) ?? samples.failureText,
            samples.median(2 * index + 1)?.text(0) ?? "",
        ])
    }
    return Section(
        title: "A device comes and goes",
        table: table,
        goals: [
            goal("started to found, beacon, p95", samples.median(1), atMost: 300, "ms", only: "found"),
            goal("killed to shown as gone, a pair, p95", samples.median(3), atMost: 10_000, "ms", only: "found"),
        ],
        notes: ["With the start of the command and of its process."]
    )
}

private func found(count: Int) throws -> [Double] {
    let stage = try NearbyStage()
    try stage.pair()
    let watcher = try stage.watch(.desk)
    try wait(until: "it listens") { stage.changes(watcher).contains { $0.event == "listed" } }
    sleep(seconds: 4)
    var (founds, gones): ([Double], [Double]) = ([], [])
    for _ in 0..<count {
        let before = stage.changes(watcher).count
        let start: Instant = MonotonicClock.now()
        let other = try stage.watch(.tablet)
        founds.append(
            try stage.time(of: watcher, since: start, until: "it is found") {
                stage.changes(watcher).dropFirst(before).contains { $0.device?.since != nil }
            }
        )
        try wait(until: "they are linked") { stage.isLinked(watcher) }
        let killed: Instant = MonotonicClock.now()
        kill(try stage.process(.tablet), SIGKILL)
        gones.append(
            try stage.time(of: watcher, since: killed, until: "it is gone") { !stage.isLinked(watcher) }
        )
        other.stop()
        sleep(seconds: 2.5)
    }
    return [founds.median!, founds.percentile(95)!, gones.median!, gones.percentile(95)!]
}

// MARK: - Links

private func nearbyLinkSection(_ options: RunOptions) -> Section {
    var samples = Samples()
    samples.record { try links(count: 3 * options.rounds) }
    var table = Table(["pairs", "p50 ms", "p95"])
    let names = [
        "another address → a line is acknowledged", "the wire is cut → shown as gone",
        "the wire is back → a line is acknowledged",
    ]
    for (index, name) in names.enumerated() {
        table.rows.append([
            name, samples.median(2 * index)?.text(0) ?? samples.failureText,
            samples.median(2 * index + 1)?.text(0) ?? "",
        ])
    }
    return Section(
        title: "The network changes",
        table: table,
        goals: [
            goal("network changed to a line that arrives, p95", samples.median(1), atMost: 2000, "ms", only: "link"),
            goal("unplugged to shown as gone, p95", samples.median(3), atMost: 10_000, "ms", only: "link"),
            goal("plugged in to a line that arrives, p95", samples.median(5), atMost: 2000, "ms", only: "link"),
        ]
    )
}

private func links(count: Int) throws -> [Double] {
    let stage = try NearbyStage()
    try stage.pair()
    let watchers = [try stage.watch(.desk), try stage.watch(.tablet)]
    for watcher in watchers { try wait(until: "they are linked") { stage.isLinked(watcher) } }
    var times: [[Double]] = [[], [], []]
    /// How long a line to the other device takes, with the start of the command.
    func tell() throws -> Double {
        let start: Instant = MonotonicClock.now()
        try stage.run(.desk, "tell", "tablet", "a line")
        return (MonotonicClock.now() - start).milliseconds
    }
    for turn in 0..<count {
        sleep(seconds: 1)
        try stage.network.moveSender(to: "10.99.0.\(turn % 2 == 0 ? 7 : 1)")
        times[0].append(try tell())
        sleep(seconds: 1)
        try stage.network.setSenderLink(isUp: false)
        let cut: Instant = MonotonicClock.now()
        times[1].append(
            try stage.time(of: watchers[1], since: cut, until: "it is gone") { !stage.isLinked(watchers[1]) }
        )
        sleep(seconds: 1)
        try stage.network.setSenderLink(isUp: true)
        times[2].append(try tell())
    }
    return times.flatMap { [$0.median!, $0.percentile(95)!] }
}

// MARK: - Files

private func nearbyFileSection(_ options: RunOptions) -> Section {
    var (local, thin) = (Samples(), Samples())
    for _ in 0..<options.rounds { local.record { try sendFile(megabytes: 1024, over: nil) } }
    let link = Link(rate: 100e6, roundTrip: .milliseconds(20), queue: 400)
    thin.record { try sendFile(megabytes: 64, over: link) }
    var table = Table(["a file of random bytes", "MB/s", "MB/s a core used, both processes", "of the wire"])
    table.rows.append([
        "1 GiB over a virtual wire", local.median(0)?.text(0) ?? local.failureText, local.median(1)?.text(0) ?? "", "",
    ])
    // A full frame has 1448 of 1514 bytes.
    let share = thin.median(0).map { $0 * 8e6 / (100e6 * 1448 / 1514) * 100 }
    table.rows.append([
        "64 MiB over 100 Mb/s, RTT 20 ms", thin.median(0)?.text(1) ?? thin.failureText, thin.median(1)?.text(0) ?? "",
        share.map { "\($0.text(1)) %" } ?? "",
    ])
    return Section(
        title: "A file goes to a pair",
        table: table,
        goals: [
            Goal(
                "file of 1 GiB",
                local.median(1),
                atLeast: 400,
                unit: "MB/s a core",
                digits: 0,
                command: "\(nearbyCommand) --only file"
            ),
            Goal(
                "file over 100 Mb/s, RTT 20 ms",
                share,
                atLeast: 95,
                unit: "% of the wire",
                digits: 1,
                command: "\(nearbyCommand) --only file"
            ),
        ],
        notes: [
            "The files are in memory (/dev/shm). With TLS, and SHA-256 at both ends; the time is that of the command."
        ]
    )
}

private func sendFile(megabytes: Int, over link: Link?) throws -> [Double] {
    let stage = try NearbyStage(link: link)
    let wire = try link.map { try WireProcess($0, in: stage.network) }
    defer { withExtendedLifetime(wire) {} }
    let folder = "/dev/shm/oriel-bench-\(getpid())"
    try FileManager.default.createDirectory(atPath: "\(folder)/inbox", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Subprocess.run([
        "dd", "if=/dev/urandom", "of=\(folder)/file", "bs=1M", "count=\(megabytes)", "status=none",
    ])
    try stage.pair()
    let sender = try stage.watch(.desk)
    let receiver = try stage.watch(.tablet, inbox: "\(folder)/inbox")
    for watcher in [sender, receiver] { try wait(until: "they are linked") { stage.isLinked(watcher) } }
    let processes = try NearbyStage.Machine.allCases.map { try stage.process($0) }
    let before = try processes.map { try processorSeconds(of: $0) }
    let start: Instant = MonotonicClock.now()
    try stage.run(.desk, "send-file", "tablet", "\(folder)/file")
    let seconds = (MonotonicClock.now() - start).seconds
    let used = try zip(processes, before).map { try processorSeconds(of: $0) - $1 }.reduce(0, +)
    let bytes = Double(megabytes) * 1_048_576
    return [bytes / 1e6 / seconds, bytes / 1e6 / used]
}

// MARK: - Idle

private func nearbyIdleSection(_ options: RunOptions) -> Section {
    var (alone, linked) = (Samples(), Samples())
    alone.record { try idle(isPaired: false, seconds: max(60, options.seconds * Double(options.rounds))) }
    linked.record { try idle(isPaired: true, seconds: max(60, options.seconds * Double(options.rounds))) }
    var table = Table([
        "announced, nobody looks", "% of a core", "sleeps a second", "packets a minute", "PSS MB", "own MB",
    ])
    for (name, samples) in [("alone", alone), ("linked with a pair", linked)] {
        table.rows.append(
            [name, samples.median(0)?.text(3) ?? samples.failureText]
                + (1..<5).map { samples.median($0)?.text(2) ?? "" }
        )
    }
    return Section(
        title: "Nothing happens",
        table: table,
        goals: [
            goal("idle: processor", alone.median(0), atMost: 0.02, "%", digits: 3, only: "idle"),
            goal("idle: sleeps", alone.median(1), atMost: 2, "a second", digits: 2, only: "idle"),
            goal("idle: packets", alone.median(2), atMost: 6, "a minute", digits: 1, only: "idle"),
            goal("idle: own memory", alone.median(4), atMost: 20, "MB", digits: 1, only: "idle"),
        ],
        notes: [
            "Own memory is private and changed; the rest is the program's file and libraries, which all processes of Oriel share."
        ]
    )
}

/// The process of a share's kind: it announces, and no command looks.
private func idle(isPaired: Bool, seconds: Double) throws -> [Double] {
    let stage = try NearbyStage()
    if isPaired { try stage.pair() }
    // A line that is never read keeps the process, and looks at nothing.
    let holder = try stage.start(.desk, "pair")
    let other = isPaired ? try stage.watch(.tablet, visible: "paired") : nil
    defer { withExtendedLifetime(other) {} }
    try wait(until: "a code is shown") { !holder.outputLines.isEmpty }
    sleep(seconds: 8)
    let pid = try stage.process(.desk)
    func packets() throws -> Double {
        let text = try Subprocess.run(stage.network.atSender(["cat", "/sys/class/net/wire/statistics/tx_packets"]))
        let own = Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
        return own
    }
    func sleeps() throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
        return line?.split(separator: "\t").last.flatMap { Double($0) } ?? 0
    }
    let (cpu, slept, sent) = (try processorSeconds(of: pid), try sleeps(), try packets())
    sleep(seconds: seconds)
    let result = [
        (try processorSeconds(of: pid) - cpu) / seconds * 100, (try sleeps() - slept) / seconds,
        (try packets() - sent) * 60 / seconds, try proportionalMemory(of: pid), try ownMemory(of: pid),
    ]
    holder.stop()
    return result
}

private func ownMemory(of pid: pid_t) throws -> Double {
    let rollup = try String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)
    let line = rollup.split(separator: "\n").first { $0.hasPrefix("Private_Dirty:") }
    let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
    return kibibytes * 1024 / 1e6
}
