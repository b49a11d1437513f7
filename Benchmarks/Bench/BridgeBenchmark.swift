import ArgumentParser
import Foundation
import FrameBridge
import Glibc
import Posix
import Time

private let frame = (width: 1920, height: 1080)
private let lumaBytes = frame.width * frame.height
private let frameBytes = lumaBytes * 3 / 2

/// Frames, and sound, through the bridge between this process and others: rate, latency and cost.
func bridgeSections(_ options: RunOptions) -> [Section] {
    [throughputSection(options), overheadSection(options), soundRingSection(options), rivalSection(options)]
}

private let command = "tools/bench bridge"

private func throughputSection(_ options: RunOptions) -> Section {
    var table = Table(["1080p NV12, two processes", "median", "p99"])
    do {
        var copied: [Double] = []
        var read: [Double] = []
        var wakes: [[Double]] = []
        for _ in 0..<options.rounds {
            copied.append(copyRate(seconds: 1))
            read.append(try run(.throughput, seconds: min(options.seconds, 5)).reader[0])
            wakes.append(try run(.latency, rate: 30, seconds: options.seconds).reader)
        }
        let ratio = read.median! / copied.median!
        let latency = (0...1).map { index in wakes.map { $0[index] }.median! }
        table.rows.append(["plain copy, frames/s", copied.median!.text(0), ""])
        table.rows.append(["written and read whole, frames/s", read.median!.text(0), ""])
        table.rows.append(["ratio", ratio.text(2), ""])
        table.rows.append(["publish to validated by a woken reader, 30 Hz, µs", latency[0].text(0), latency[1].text(0)])
        let goals = [
            Goal("bridge: frames written and read", ratio, atLeast: 0.7, unit: "× plain copy", command: command),
            Goal("publish to woken reader, p50", latency[0], atMost: 60, unit: "µs", digits: 0, command: command),
            Goal("publish to woken reader, p99", latency[1], atMost: 1000, unit: "µs", digits: 0, command: command),
        ]
        return Section(title: "Bridge", table: table, goals: goals)
    } catch {
        table.rows.append(["failed: \(error)", "", ""])
        return Section(title: "Bridge", table: table)
    }
}

/// The cost of publishing besides drawing.
private func overheadSection(_ options: RunOptions) -> Section {
    var table = Table(["publish without pixels", "µs, median"])
    do {
        let alone = try (0..<options.rounds).map { _ in try overhead(sleepers: 0, count: 20_000) }.median!
        let crowded = try (0..<options.rounds).map { _ in try overhead(sleepers: 64, count: 100) }.median!
        table.rows.append(["no reader", alone.text(2)])
        table.rows.append(["64 readers asleep", crowded.text(1)])
        let goals = [
            Goal("publish without pixels", alone, atMost: 2, unit: "µs", command: command),
            Goal("publish, 64 readers asleep", crowded, atMost: 60, unit: "µs", digits: 1, command: command),
        ]
        let notes = [
            "Processor time of the publishing thread. It wakes up to four readers; another thread of the writer wakes the rest."
        ]
        return Section(title: "Publishing", table: table, goals: goals, notes: notes)
    } catch {
        table.rows.append(["failed: \(error)", ""])
        return Section(title: "Publishing", table: table)
    }
}

/// The median microseconds of a publish without drawing. With readers, which it wakes on the same cores, this thread's
/// processor time counts.
private func overhead(sleepers: Int, count: Int) throws -> Double {
    let folder = try TemporaryFolder(isInMemory: true)
    let directory = try BridgeDirectory(path: folder.path + "/bridge", create: true)
    var writer = try FrameWriter(directory: directory, source: "bench", framesPerSecond: 30)
    func clock() -> Duration {
        sleepers > 0 ? MonotonicClock.threadTime() : MonotonicClock.now() - Instant(nanoseconds: 0)
    }
    func publish() throws -> Double {
        let start = clock()
        try writer.publish(frameInfo(MonotonicClock.now())) { if $0.followsAnother { $0.keepAll() } }
        return (clock() - start) / .microseconds(1)
    }
    for _ in 0..<4 { _ = try publish() }
    let readers = try (0..<sleepers).map { _ in
        try ChildProcess(sibling("bench"), ["bridge-reader", directory.path, "latency", "60"], capturingOutput: true)
    }
    defer { readers.forEach { $0.stop() } }
    if sleepers > 0 { sleep(seconds: 2) }
    return try (0..<count).map { _ in
        if sleepers > 0 { sleep(seconds: 0.02) }
        return try publish()
    }.median!
}

/// The processor time of both sides for a frame, beside GStreamer's shared memory. Each frame is copied in from one picture.
private func rivalSection(_ options: RunOptions) -> Section {
    var table = Table(["1080p NV12 as fast as it goes, CPU ms a frame", "writer", "reader", "both"])
    var samples: [(name: String, times: [[Double]])] = [
        ("oriel, in place", []), ("oriel, copied", []), ("shmsink, shmsrc", []),
    ]
    do {
        for _ in 0..<options.rounds {
            for (index, mode) in [BridgeReader.Mode.inPlace, .copy].enumerated() {
                let figures = try run(mode, pictures: 1, seconds: min(options.seconds, 3))
                samples[index].times.append([figures.writer, figures.reader[0]])
            }
            samples[2].times.append(try sharedMemoryCost())
        }
        let both = samples.map { $0.times.map { $0[0] + $0[1] }.median! }
        for (sample, sum) in zip(samples, both) {
            let parts = (0...1).map { index in sample.times.map { $0[index] }.median!.text(3) }
            table.rows.append([sample.name] + parts + [sum.text(3)])
        }
        let unit = "× shmsink, shmsrc"
        let goals = [
            Goal("CPU a frame, read in place", both[0] / both[2], atMost: 0.7, unit: unit, command: command),
            Goal("CPU a frame, read by copying", both[1] / both[2], atMost: 1, unit: unit, command: command),
        ]
        let notes = [
            "GStreamer's reader does not look at the pixels, and neither does ours in place. Its source fills nothing."
        ]
        return Section(title: "Bridge beside GStreamer", table: table, goals: goals, notes: notes)
    } catch {
        table.rows.append(["failed: \(error)", "", "", ""])
        return Section(title: "Bridge beside GStreamer", table: table)
    }
}

/// Milliseconds of processor time of shmsink and shmsrc for a frame.
private func sharedMemoryCost() throws -> [Double] {
    let folder = try TemporaryFolder(isInMemory: true)
    let socket = folder.path + "/frames"
    let (sent, received) = (6000, 5900)
    let writer = try timedLaunch(
        "fakesrc num-buffers=\(sent) sizetype=fixed sizemax=\(frameBytes) filltype=nothing ! shmsink socket-path=\(socket) "
            + "shm-size=\(frameBytes * 8) wait-for-connection=true sync=false"
    )
    defer { writer.stop() }
    sleep(seconds: 1)
    let reader = try timedLaunch("shmsrc socket-path=\(socket) num-buffers=\(received) ! fakesink sync=false")
    defer { reader.stop() }
    return try zip([writer, reader], [sent, received]).map { process, frames in
        let times = process.outputText().split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard times.count == 2 else { throw BenchError("GStreamer's shared memory did not come to an end") }
        return (times[0] + times[1]) * 1000 / Double(frames)
    }
}

/// Runs a pipeline and prints its seconds of user and system time. shmsink complains at the end of a stream.
private func timedLaunch(_ pipeline: String) throws -> ChildProcess {
    // Memory is used again, instead of new pages for each frame.
    let memory = ["MALLOC_MMAP_THRESHOLD_": "1000000000", "MALLOC_TRIM_THRESHOLD_": "2000000000"]
    let script = "TIMEFORMAT='%U %S'; { time timeout 30 gst-launch-1.0 -q \(pipeline) > /dev/null 2>&1; } 2>&1"
    return try ChildProcess("bash", ["-c", script], environment: memory, capturingOutput: true)
}

private func frameInfo(_ capturedAt: Instant) -> FrameInfo {
    let source = SourceRectangle(x: 0, y: 0, width: frame.width, height: frame.height)
    return FrameInfo(width: frame.width, height: frame.height, capturedAt: capturedAt, source: source)
}

private func pictures(_ count: Int32) -> [UnsafeMutableRawBufferPointer] {
    (1...count).map { (value: Int32) in
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: frameBytes, alignment: 64)
        memset(memory.baseAddress!, value, frameBytes)
        return memory
    }
}

/// Frames per second that one process copies from eight pictures in turn.
private func copyRate(seconds: Double) -> Double {
    let sources = pictures(8)
    let targets = pictures(3)  // as many as the bridge has slots
    defer { (sources + targets).forEach { $0.deallocate() } }
    var count = 0
    let start: Instant = MonotonicClock.now()
    while secondsSince(start) < seconds {
        targets[count % targets.count].copyMemory(from: UnsafeRawBufferPointer(sources[count % sources.count]))
        count += 1
    }
    return Double(count) / secondsSince(start)
}

/// Publishes at a rate, or as fast as possible. Returns this thread's CPU milliseconds a frame, and the figures that
/// the reader process prints.
private func run(
    _ mode: BridgeReader.Mode,
    rate: Double? = nil,
    pictures count: Int32 = 8,
    seconds: Double
) throws -> (writer: Double, reader: [Double]) {
    let folder = try TemporaryFolder(isInMemory: true)
    let directory = try BridgeDirectory(path: folder.path + "/bridge", create: true)
    var writer = try FrameWriter(directory: directory, source: "bench", framesPerSecond: Int(rate ?? 1000))
    let sources = pictures(count)
    defer { sources.forEach { $0.deallocate() } }

    let reader = try ChildProcess(
        sibling("bench"),
        ["bridge-reader", directory.path, mode.rawValue, "\(seconds)"],
        capturingOutput: true
    )
    defer { reader.stop() }
    let start: Instant = MonotonicClock.now()
    let cpuStart: Duration = MonotonicClock.threadTime()
    var count = 0
    while reader.isRunning, secondsSince(start) < seconds + 5 {
        let source = UnsafeRawBufferPointer(sources[count % sources.count])
        try writer.publish(frameInfo(MonotonicClock.now())) { planes in
            planes.withPlanes { luma, chroma in
                luma.withUnsafeMutableBytes { $0.copyMemory(from: .init(rebasing: source[..<lumaBytes])) }
                chroma.withUnsafeMutableBytes { $0.copyMemory(from: .init(rebasing: source[lumaBytes...])) }
            }
        }
        count += 1
        if let rate { MonotonicClock.sleep(until: start + .seconds(Double(count) / rate)) }
    }
    let cost = (MonotonicClock.threadTime() - cpuStart).milliseconds / Double(count)
    let figures = reader.outputText().split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    guard figures.count == 2 else { throw BenchError("the reader process printed no figures") }
    return (cost, figures)
}

/// The second process of the bridge benchmark. Prints frames/s and 0; or p50 and p99 of the wake latency in µs; or CPU ms a
/// frame and 0.
struct BridgeReader: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "bridge-reader", shouldDisplay: false)

    enum Mode: String, ExpressibleByArgument { case throughput, latency, inPlace, copy }

    @Argument var path: String
    @Argument var mode: Mode
    @Argument var seconds: Double

    func run() throws {
        var reader = try FrameReader(directory: try BridgeDirectory(path: path, create: false))
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: frameBytes, alignment: 64)
        defer { copy.deallocate() }
        while true {
            if case .frame = try reader.read({ _ in }) { break }
            reader.wait(until: MonotonicClock.now() + .milliseconds(1))
        }
        var latencies: [Double] = []
        var count = 0
        let start: Instant = MonotonicClock.now()
        let cpuStart: Duration = MonotonicClock.threadTime()
        while secondsSince(start) < seconds {
            let outcome = try reader.read { frame in
                guard mode == .throughput || mode == .copy else { return }
                copy.takeOver(luma: frame.luma, chroma: frame.chroma)
            }
            switch outcome {
            case .frame(let info):
                let now: Instant = MonotonicClock.now()
                if let publishedAt = info.publishedAt { latencies.append((now - publishedAt) / .microseconds(1)) }
                count += 1
            case .unchanged, .noFrame: reader.wait(until: MonotonicClock.now() + .milliseconds(100))
            case .contended: break
            }
        }
        let cpu = (MonotonicClock.threadTime() - cpuStart).milliseconds
        switch mode {
        case .throughput: print(Double(count) / secondsSince(start), 0)
        case .latency: print(latencies.median ?? 0, latencies.percentile(99) ?? 0)
        case .inPlace, .copy: print(cpu / Double(max(count, 1)), 0)
        }
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Copies both planes, one behind the other.
    fileprivate func takeOver(luma: RawSpan, chroma: RawSpan) {
        luma.withUnsafeBytes { copyMemory(from: .init(rebasing: $0[..<lumaBytes])) }
        chroma.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: self[lumaBytes...])
                .copyMemory(from: .init(rebasing: $0[..<(lumaBytes / 2)]))
        }
    }
}
