import Foundation
import Glibc
import Posix
import Time

/// Calls of the allocator for each frame in steady state.
func allocationSection(_ options: RunOptions) -> Section {
    var table = Table(["calls of the allocator", "capture, per second", "per frame", "sender, per second", "per frame"])
    var notes = ["Each answer of the X server and each event is an allocation of libxcb's, and one on its way out."]
    for kind in workloads {
        var sample = Samples()
        sample.record { try allocations(on: kind, seconds: min(options.seconds, 4)) }
        guard sample.median() != nil else {
            notes.append("\(kind): \(sample.failureText)")
            continue
        }
        let frames = sample.median(2)!
        let cells = (0..<2).flatMap { process in
            let count = sample.median(process)!
            return [count.text(0), frames < 1 ? "" : (count / frames).text(1)]
        }
        table.rows.append([kind] + cells)
    }
    return Section(title: "Allocations in steady state", table: table, notes: notes)
}

/// Calls a second of the capture process and of the sender, and frames a second.
private func allocations(on kind: String, seconds: Double) throws -> [Double] {
    let stage = try Stage(kind)
    let drain = try PortDrain()
    defer { drain.stop() }
    let folder = try TemporaryFolder()
    let counters = try [folder.path + "/1", folder.path + "/2"].map { try AllocationCounter(path: $0) }
    let stats = folder.path + "/stats"
    let capture = try Contender.startCapture(stage.display, in: folder, environment: counters[0].environment)
    let sender = try Contender.startSender(
        drain.port,
        in: folder,
        ["--stats", stats],
        environment: counters[1].environment
    )
    sleep(seconds: 4)
    let before = counters.map(\.count)
    let start: Instant = MonotonicClock.now()
    let packetsBefore = drain.pictures
    sleep(seconds: seconds)
    let elapsed = secondsSince(start)
    try capture.requireRunning()
    try sender.requireRunning()
    guard before.allSatisfy({ $0 > 0 }) else { throw BenchError("the allocation counter was not loaded") }
    let counts = zip(counters, before).map { Double($0.count - $1) / elapsed }
    return counts + [Double(drain.pictures - packetsBefore) / elapsed]
}

/// A count in a file, kept by a library that is preloaded into another process.
private final class AllocationCounter {
    private let path: String

    init(path: String) throws {
        self.path = path
        guard FileManager.default.createFile(atPath: path, contents: Data(count: 8)) else {
            throw BenchError("cannot create \(path)")
        }
    }

    var environment: [String: String] {
        get throws {
            ["LD_PRELOAD": try sibling("libAllocationCounter.so"), "ORIEL_ALLOCATION_COUNTER": path]
        }
    }

    var count: UInt64 {
        guard let data = FileManager.default.contents(atPath: path), data.count == 8 else { return 0 }
        return data.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    }
}
