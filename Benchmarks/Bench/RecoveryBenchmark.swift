import Pixels
import Posix
import Synchronization
import TestSupport

/// How long after it was killed and started again each process lets a new picture through.
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
                atMost: 1000,
                unit: "ms",
                digits: 0,
                command: "tools/bench recovery"
            )
        )
    }
    let notes = ["From the restart to the first new picture decoded in GStreamer, with the receiver left alone."]
    return [Section(title: "Recovery after kill -9", table: table, goals: goals, notes: notes)]
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
        sleep(seconds: 0.3)
        let start = MonotonicClock.now()
        switch victim {
        case .capture: capture = try Contender.startCapture(display, in: folder)
        case .sender: sender = try Contender.startSender(port, in: folder)
        case .server: stage = try Stage("counter", rate: 30, on: display)
        }
        return try waitForChange(since: start)
    }

    /// Milliseconds until another number is seen than the last one.
    @discardableResult
    private func waitForChange(since start: UInt64) throws -> Double {
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
