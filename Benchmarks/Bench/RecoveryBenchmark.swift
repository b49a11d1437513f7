import FrameBridge
import Glibc
import Pixels
import Posix
import Synchronization
import TestSupport
import Time

/// The time from a process's death, after which it is started again, to a new picture.
func recoverySections(_ options: RunOptions) -> [Section] {
    let kills = 5 * options.rounds
    var table = Table(["killed", "kills", "median ms", "longest ms"])
    var goals: [Goal] = []
    for victim in Victim.allCases {
        var sample = Samples()
        do {
            let scene = try RecoveryScene()
            for _ in 0..<kills { sample.record { [try scene.recovery(from: victim)] } }
        } catch {
            sample.record { throw error }
        }
        let longest = sample.values.map { $0[0] }.max()
        guard let median = sample.median(), let longest else {
            table.rows.append([victim.rawValue, sample.failureText, "", ""])
            continue
        }
        table.rows.append([victim.rawValue, "\(sample.values.count)", median.text(0), longest.text(0)])
        goals.append(
            Goal(
                "recovery, \(victim.rawValue)",
                sample.values.count == kills ? longest : nil,
                atMost: victim == .server ? 1000 : 300,
                unit: "ms",
                digits: 0,
                command: "tools/bench recovery"
            )
        )
    }
    let notes = ["From the restart to the first new picture decoded in GStreamer, with the receiver left alone."]
    return [Section(title: "Recovery after kill -9", table: table, goals: goals, notes: notes), noticeSection(kills)]
}

/// The time from one side's death to the other's knowledge of it.
private func noticeSection(_ kills: Int) -> Section {
    var table = Table(["killed", "kills", "median ms", "longest ms"])
    var goals: [Goal] = []
    let notices: [(name: String, measure: () throws -> Double)] = [
        ("capture process", noticeOfWriter), ("reader", noticeOfReader),
    ]
    for (name, measure) in notices {
        var sample = Samples()
        for _ in 0..<kills { sample.record { [try measure()] } }
        guard let median = sample.median(), let longest = sample.values.map({ $0[0] }).max() else {
            table.rows.append([name, sample.failureText, "", ""])
            continue
        }
        table.rows.append([name, "\(sample.values.count)", median.text(1), longest.text(1)])
        let isWhole = sample.values.count == kills
        goals.append(
            Goal(
                "death noticed, \(name)",
                isWhole ? longest : nil,
                atMost: 100,
                unit: "ms",
                command: "tools/bench recovery"
            )
        )
    }
    let notes = [
        "A sender says that its capture process died; a writer that watches its folder knows that nobody reads."
    ]
    return Section(title: "Death noticed", table: table, goals: goals, notes: notes)
}

/// Milliseconds until a sender reports its capture process's death.
private func noticeOfWriter() throws -> Double {
    let folder = try TemporaryFolder()
    let stage = try Stage("still", [])
    let capture = try Contender.startCapture(stage.display, in: folder)
    let sender = try Contender.startSender(try freePortPair(), in: folder)
    defer { sender.stop() }
    sleep(seconds: .random(in: 0.5...1))
    let start: Instant = MonotonicClock.now()
    kill(capture.pid, SIGKILL)
    while !sender.errorText.contains("died") {
        guard secondsSince(start) < 5 else { throw BenchError("the sender did not notice within 5 s") }
        sleep(seconds: 0.0005)
    }
    return secondsSince(start) * 1000
}

/// Milliseconds until a writer that watches its folder notices its reader's death.
private func noticeOfReader() throws -> Double {
    let folder = try TemporaryFolder(isInMemory: true)
    let directory = try BridgeDirectory(path: folder.path + "/bridge", create: true)
    var writer = try FrameWriter(directory: directory, source: "bench", framesPerSecond: 30)
    let source = SourceRectangle(x: 0, y: 0, width: 64, height: 64)
    try writer.publish(FrameInfo(width: 64, height: 64, capturedAt: Instant(nanoseconds: 1), source: source)) { _ in }
    let watch = directory.watch()
    let reader = try ChildProcess(sibling("bench"), ["bridge-reader", directory.path, "latency", "60"])
    while !writer.hasReaders { sleep(seconds: 0.001) }
    sleep(seconds: .random(in: 0.1...0.2))
    _ = watch.take()
    let start: Instant = MonotonicClock.now()
    kill(reader.pid, SIGKILL)
    while writer.hasReaders {
        guard secondsSince(start) < 5 else { throw BenchError("the writer did not notice within 5 s") }
        waitReadable(watch.descriptor, until: MonotonicClock.now() + .milliseconds(500))
        if watch.take(), writer.hasReaders {
            MonotonicClock.sleep(for: DirectoryWatch.unlockTime)
        }
    }
    return secondsSince(start) * 1000
}

private enum Victim: String, CaseIterable {
    case capture = "capture process"
    case sender
    case server = "X server"
}

/// A counter at 30 Hz on a screen, its broadcast, and a receiver.
private final class RecoveryScene {
    private let folder: TemporaryFolder
    private let port: UInt16
    private let receiver: Receiver
    private let lastSeen = LastSeen()
    private var stage: Stage?
    private let display: String
    private var capture: ChildProcess
    private var sender: ChildProcess

    init() throws {
        folder = try TemporaryFolder()
        port = try freePortPair()
        let reader = NumberReader(width: EncoderSettings.size.width)
        let lastSeen = lastSeen
        receiver = try Receiver(port: port) { frame, _ in
            if let number = reader.value(in: frame) { lastSeen.note(number) }
        }
        let stage = try Stage("counter", ["--rate", "30"])
        self.stage = stage
        display = stage.display
        capture = try Contender.startCapture(display, in: folder)
        sender = try Contender.startSender(port, in: folder)
        try waitForChange(since: MonotonicClock.now())
    }

    deinit {
        receiver.stop()
        sender.stop()
        capture.stop()
    }

    /// Milliseconds.
    func recovery(from victim: Victim) throws -> Double {
        sleep(seconds: .random(in: 0.2...0.6))
        switch victim {
        case .capture: capture.crash()
        case .sender: sender.crash()
        case .server: stage?.crash()
        }
        // The capture process looks for a lost X server at fixed times. A fixed pause would always meet the same one.
        sleep(seconds: .random(in: 0.3...0.7))
        let start: Instant = MonotonicClock.now()
        switch victim {
        case .capture: capture = try Contender.startCapture(display, in: folder)
        case .sender: sender = try Contender.startSender(port, in: folder)
        case .server: stage = try Stage("counter", rate: 30, on: display)
        }
        return try waitForChange(since: start)
    }

    /// Milliseconds until a new number is seen.
    @discardableResult
    private func waitForChange(since start: Instant) throws -> Double {
        let before = lastSeen.number
        while lastSeen.number == before {
            guard secondsSince(start) < 10 else { throw BenchError("no new picture arrived within 10 s") }
            sleep(seconds: 0.001)
        }
        return secondsSince(start) * 1000
    }
}

private final class LastSeen: Sendable {
    private let value = Mutex<Int?>(nil)

    var number: Int? { value.withLock { $0 } }

    func note(_ number: Int) { value.withLock { $0 = number } }
}
