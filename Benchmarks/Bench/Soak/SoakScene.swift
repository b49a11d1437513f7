import Foundation
import FrameBridge
import Glibc
import Pixels
import Posix
import Synchronization
import TestSupport
import Time

/// A counter at 30 Hz on a screen, its broadcast, two senders, of which one is left alone, a receiver, and a reader
/// that checks all frames in the bridge.
final class SoakScene {
    struct Readings {
        var frames = 0
        var received = 0
        var torn = 0
        var backwards = 0
    }

    /// The resources of a process.
    struct Usage {
        let memory: Double
        let descriptors: Int
        let threads: Int
    }

    private let folder: TemporaryFolder
    private let port: UInt16
    private let drain: PortDrain
    private let receiver: Receiver
    private let watcher: SoakWatcher
    private let display: String
    private let segments: Int
    private var stage: Stage?
    private var capture: ChildProcess
    private var sender: ChildProcess
    private let witness: ChildProcess

    init() throws {
        folder = try TemporaryFolder(isInMemory: true)
        segments = Self.sharedSegments()
        let stage = try Stage("counter", ["--rate", "30"])
        self.stage = stage
        display = stage.display
        port = try freePortPair()
        drain = try PortDrain()
        let reader = NumberReader(width: EncoderSettings.size.width)
        let seen = SeenNumber()
        receiver = try Receiver(port: port) { frame, _ in seen.note(reader.value(in: frame)) }
        self.seen = seen
        capture = try Contender.startCapture(display, in: folder)
        sender = try Contender.startSender(port, in: folder)
        witness = try Contender.startSender(drain.port, in: folder)
        watcher = try SoakWatcher(folder.path + "/bridge")
        guard flows(within: 5) != nil else { throw BenchError("no picture came at the start") }
    }

    private let seen: SeenNumber

    var readings: Readings {
        var readings = watcher.readings
        readings.received = seen.count
        return readings
    }

    /// Causes a fault, repairs it, and waits until pictures flow again.
    ///
    /// - Returns: the seconds of that; nil if it took longer than ten.
    func suffer(_ fault: SoakFault, _ random: inout SplitMix) throws -> Double? {
        let delay = Double.random(in: 0.05...1, using: &random)
        watcher.expectsNumbers = ![.killServer, .pause, .freeze, .region, .truncate, .damage].contains(fault)
        switch fault {
        case .killCapture:
            capture.crash()
            sleep(seconds: delay)
            try startCapture(&random)
        case .killSender:
            sender.crash()
            sleep(seconds: delay)
            sender = try Contender.startSender(port, in: folder)
        case .killBoth:
            sender.crash()
            capture.crash()
            sender = try Contender.startSender(port, in: folder)
            sleep(seconds: delay)
            try startCapture(&random)
        case .killServer:
            stage?.crash()
            sleep(seconds: delay)
            watcher.forgetNumbers()
            stage = try Stage("counter", rate: 30, on: display)
        case .stopCapture: try stop(capture, for: delay * 3)
        case .stopSender: try stop(sender, for: delay * 3)
        case .truncate:
            if let frames { Glibc.truncate(frames, off_t.random(in: 0...9_000_000, using: &random)) }
        case .unlink: if let frames { Glibc.unlink(frames) }
        case .damage: try damageFrames(&random)
        case .pause, .freeze:
            try oriel(fault == .pause ? ["pause"] : ["pause", "--freeze"])
            sleep(seconds: delay * 2)
            try oriel(["resume"])
        case .region:
            try oriel(["source", "--region", "1280x720+\(Int.random(in: 0...300, using: &random))+8"])
            sleep(seconds: delay)
            try oriel(["source"])
        case .pointer:
            for _ in 0..<20 {
                let (x, y) = (Int.random(in: 0...1900, using: &random), Int.random(in: 100...1000, using: &random))
                _ = try? run("xdotool", ["mousemove", "\(x)", "\(y)"])
            }
        case .terminal:
            let terminal = try ChildProcess(
                "xterm",
                [
                    "-display", display, "-geometry", "80x30+900+500", "-e",
                    "for i in $(seq 4000); do echo $i $RANDOM; done",
                ]
            )
            sleep(seconds: delay * 2)
            terminal.stop()
        case .readers:
            for _ in 0..<4 {
                let reader = try ChildProcess(sibling("bench"), ["bridge-reader", bridge, "latency", "60"])
                sleep(seconds: delay / 4)
                reader.crash()
            }
        case .rubbish:
            try? Data((0..<512).map { _ in UInt8.random(in: 0...255, using: &random) })
                .write(to: URL(fileURLWithPath: bridge + "/request"))
            _ = try? run(sibling("oriel"), ["inspect", "--dir", bridge, "--png", folder.path + "/snapshot.png"])
        case .rest: sleep(seconds: delay * 5)
        }
        for process in [capture, sender, witness] { try process.requireRunning() }
        let took = flows(within: 10)
        watcher.expectsNumbers = true
        return took
    }

    func usage() -> [String: Usage] {
        var usage: [String: Usage] = [:]
        for (name, process) in [("capture", capture), ("sender", sender), ("witness", witness)] {
            let manager = FileManager.default
            usage[name] = Usage(
                memory: (try? process.memory()) ?? 0,
                descriptors: (try? manager.contentsOfDirectory(atPath: "/proc/\(process.pid)/fd").count) ?? 0,
                threads: (try? manager.contentsOfDirectory(atPath: "/proc/\(process.pid)/task").count) ?? 0
            )
        }
        return usage
    }

    /// Ends all processes in order. Returns leftovers that should not be there.
    func end() throws -> [String] {
        watcher.stop()
        try oriel(["stop"])
        let start: Instant = MonotonicClock.now()
        while capture.isRunning || sender.isRunning || witness.isRunning, secondsSince(start) < 5 {
            sleep(seconds: 0.05)
        }
        var leftovers = [("capture", capture), ("sender", sender), ("witness", witness)].filter { $0.1.isRunning }
            .map { "process \($0.0)" }
        let expected = ["reader.lock", "senders", "status", "writer.lock"]
        let files = try FileManager.default.contentsOfDirectory(atPath: bridge).sorted()
        leftovers += files.filter { !expected.contains($0) }.map { "file \($0)" }
        receiver.stop()
        drain.stop()
        stage = nil
        let more = Self.sharedSegments() - segments
        if more > 0 { leftovers.append("\(more) SysV segments") }
        return leftovers
    }

    // MARK: - Details

    private var bridge: String { folder.path + "/bridge" }

    private var frames: String? {
        (try? FileManager.default.contentsOfDirectory(atPath: bridge))?.first { $0.hasPrefix("frames.") }
            .map { bridge + "/" + $0 }
    }

    private func startCapture(_ random: inout SplitMix) throws {
        let usesMemory = Int.random(in: 0..<3, using: &random) == 0
        capture = try Contender.startCapture(display, in: folder, ["--bridge", usesMemory ? "memfd" : "file"])
    }

    private func stop(_ process: ChildProcess, for seconds: Double) throws {
        kill(process.pid, SIGSTOP)
        sleep(seconds: seconds)
        kill(process.pid, SIGCONT)
    }

    /// Obvious damage. The file is removed after it, as the writer does not look into it.
    private func damageFrames(_ random: inout SplitMix) throws {
        guard let frames, let file = try? FileDescriptor.open(frames, O_RDWR) else { return }
        for _ in 0..<64 {
            var byte = UInt8.random(in: 0...255, using: &random)
            pwrite(file.raw, &byte, 1, off_t.random(in: 0...20_000, using: &random))
        }
        sleep(seconds: 0.1)
        Glibc.unlink(frames)
    }

    private func oriel(_ arguments: [String]) throws {
        try run(sibling("oriel"), arguments + ["--dir", bridge])
    }

    private func run(_ program: String, _ arguments: [String]) throws {
        let process = try ChildProcess(program, arguments, environment: ["DISPLAY": display])
        let start: Instant = MonotonicClock.now()
        while process.isRunning {
            guard secondsSince(start) < 10 else { throw BenchError("\(program) \(arguments) did not end") }
            sleep(seconds: 0.005)
        }
    }

    /// Seconds until numbers painted from now on came both through the bridge and to the receiver.
    private func flows(within limit: Double) -> Double? {
        let start: Instant = MonotonicClock.now()
        let (inBridge, atReceiver) = (watcher.count, seen.count)
        // The second new number was painted after the start.
        while watcher.count < inBridge + 2 || seen.count < atReceiver + 2 {
            guard secondsSince(start) < limit else { return nil }
            sleep(seconds: 0.002)
        }
        return secondsSince(start)
    }

    private static func sharedSegments() -> Int {
        let table = (try? String(contentsOfFile: "/proc/sysvipc/shm", encoding: .utf8)) ?? ""
        return table.split(separator: "\n").count
    }
}

/// The count of different numbers that were seen.
final class SeenNumber: Sendable {
    private let state = Mutex<(last: Int?, count: Int)>((nil, 0))

    var count: Int { state.withLock { $0.count } }

    func note(_ number: Int?) {
        guard let number else { return }
        state.withLock { state in
            if state.last != number { state = (number, state.count + 1) }
        }
    }
}
