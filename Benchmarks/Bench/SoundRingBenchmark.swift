import ArgumentParser
import FrameBridge
import Glibc
import Posix
import Time

private let command = "tools/bench bridge"

/// The cost of 10 ms of sound in the bridge: for a write, with no reader and with one that waits, and for a read.
func soundRingSection(_ options: RunOptions) -> Section {
    var table = Table(["10 ms of stereo sound, µs", "median", "p99"])
    do {
        let alone = try (0..<options.rounds).map { _ in try writeTimes(isHeard: false, count: 20_000).writes }
        let heard = try (0..<options.rounds).map { _ in try writeTimes(isHeard: true, count: 300) }
        func add(_ name: String, _ rounds: [[Double]]) -> Double {
            let figures = [50, 99].map { rank in rounds.map { $0.percentile(rank) ?? 0 }.median! }
            table.rows.append([name] + figures.map { $0.text(2) })
            return figures[0]
        }
        let written = add("write, no reader", alone)
        let woken = add("write, a reader waits", heard.map(\.writes))
        table.rows.append(["read by that reader", heard.map(\.read).median!.text(2), ""])
        table.rows.append(["write to read by that reader", heard.map(\.latency).median!.text(0), ""])
        let goals = [
            Goal("write 10 ms of sound", written, atMost: 2, unit: "µs", command: command),
            Goal("write 10 ms of sound, a reader waits", woken, atMost: 2, unit: "µs", command: command),
        ]
        return Section(title: "Sound in the bridge", table: table, goals: goals)
    } catch {
        table.rows.append(["failed: \(error)", "", ""])
        return Section(title: "Sound in the bridge", table: table)
    }
}

/// Microseconds of each write, and the reader's figures: the median of its reads, and from before a write to after the
/// read.
private func writeTimes(isHeard: Bool, count: Int) throws -> (writes: [Double], read: Double, latency: Double) {
    let folder = try TemporaryFolder(isInMemory: true)
    let directory = try BridgeDirectory(path: folder.path + "/bridge", create: true)
    var writer = try SoundWriter(in: directory)
    let samples = (0..<SoundBlock.samples * 2).map { Int16(truncatingIfNeeded: $0 * 31) }
    let reader =
        isHeard
        ? try ChildProcess(
            sibling("bench"),
            ["sound-ring-reader", directory.path, "\(count)"],
            capturingOutput: true
        ) : nil
    defer { reader?.stop() }
    if isHeard { sleep(seconds: 0.5) }
    // This thread's cost of a write counts, even if the reader is woken on the same processor.
    func clock() -> Duration {
        isHeard ? MonotonicClock.threadTime() : MonotonicClock.now() - Instant(nanoseconds: 0)
    }
    var times: [Double] = []
    let begin: Instant = MonotonicClock.now()
    for block in 0..<count {
        if isHeard { MonotonicClock.sleep(until: begin + SoundBlock.duration * block) }
        let capturedAt: Instant = MonotonicClock.now()
        let start = clock()
        try writer.write(samples.span, channels: 2, capturedAt: capturedAt, follows: block > 0)
        times.append((clock() - start) / .microseconds(1))
    }
    guard let reader else { return (times, 0, 0) }
    let figures = reader.outputText().split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    guard figures.count == 2 else { throw BenchError("the reader process printed no figures") }
    return (times, figures[0], figures[1])
}

/// The second process. Prints the median microseconds of a read, and from the capture of a block to its end.
struct SoundRingReader: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "sound-ring-reader", shouldDisplay: false)

    @Argument var path: String
    @Argument var count: UInt64

    func run() throws {
        var reader = SoundReader(directory: try BridgeDirectory(path: path, create: false))
        var reads: [Double] = []
        var latencies: [Double] = []
        var number: UInt64 = 0
        while number < count {
            let start: Instant = MonotonicClock.now()
            guard case .block(let block) = try reader.read({ _, _ in }) else {
                reader.wait(until: start + .seconds(1))
                continue
            }
            let end: Instant = MonotonicClock.now()
            reads.append((end - start) / .microseconds(1))
            latencies.append((end - block.capturedAt) / .microseconds(1))
            number = block.number
        }
        print(reads.median ?? 0, latencies.median ?? 0)
    }
}
