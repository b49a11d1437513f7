import ArgumentParser
import Foundation
import FrameBridge
import Glibc
import Posix

private let frame = (width: 1920, height: 1080)
private let lumaBytes = frame.width * frame.height
private let frameBytes = lumaBytes * 3 / 2

/// Frames through the bridge between this process and a second one, against copying the same frames in memory.
func bridgeSections(_ options: RunOptions) -> [Section] {
    let command = "tools/bench bridge"
    var table = Table(["1080p NV12, two processes", "median", "p99"])
    do {
        var copied: [Double] = []
        var read: [Double] = []
        var wakes: [[Double]] = []
        for _ in 0..<options.rounds {
            copied.append(copyRate(seconds: 1))
            read.append(try run(rate: nil, seconds: min(options.seconds, 5))[0])
            wakes.append(try run(rate: 30, seconds: options.seconds))
        }
        let ratio = read.median! / copied.median!
        let latency = (0...1).map { index in wakes.map { $0[index] }.median! }
        table.rows.append(["plain copy, frames/s", copied.median!.text(0), ""])
        table.rows.append(["written and read whole, frames/s", read.median!.text(0), ""])
        table.rows.append(["ratio", ratio.text(2), ""])
        table.rows.append(["publish to woken reader at 30 Hz, µs", latency[0].text(0), latency[1].text(0)])
        let goal = Goal(
            "bridge: frames written and read",
            ratio,
            atLeast: 0.7,
            unit: "× plain copy",
            command: command
        )
        return [Section(title: "Bridge", table: table, goals: [goal])]
    } catch {
        table.rows.append(["failed: \(error)", "", ""])
        return [Section(title: "Bridge", table: table)]
    }
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
    let start = MonotonicClock.now()
    while secondsSince(start) < seconds {
        targets[count % targets.count].copyMemory(from: UnsafeRawBufferPointer(sources[count % sources.count]))
        count += 1
    }
    return Double(count) / secondsSince(start)
}

/// Publishes at a rate, or as fast as it goes, and returns the figures that the reader process prints.
private func run(rate: Double?, seconds: Double) throws -> [Double] {
    let folder = try TemporaryFolder()
    let directory = try BridgeDirectory(path: folder.path + "/bridge", create: true)
    var writer = try FrameWriter(directory: directory, source: "bench", framesPerSecond: Int(rate ?? 1000))
    let sources = pictures(8)
    defer { sources.forEach { $0.deallocate() } }

    let mode = rate == nil ? "throughput" : "latency"
    let reader = try ChildProcess(
        sibling("bench"),
        ["bridge-reader", directory.path, mode, "\(seconds)"],
        capturingOutput: true
    )
    defer { reader.stop() }
    let start = MonotonicClock.now()
    var count = 0
    while reader.isRunning, secondsSince(start) < seconds + 5 {
        let info = FrameInfo(
            width: frame.width,
            height: frame.height,
            capturedAt: MonotonicClock.now(),
            source: SourceRectangle(x: 0, y: 0, width: frame.width, height: frame.height)
        )
        let source = UnsafeRawBufferPointer(sources[count % sources.count])
        try writer.publish(info) { planes in
            planes.withPlanes { luma, chroma in
                luma.withUnsafeMutableBytes { $0.copyMemory(from: .init(rebasing: source[..<lumaBytes])) }
                chroma.withUnsafeMutableBytes { $0.copyMemory(from: .init(rebasing: source[lumaBytes...])) }
            }
        }
        count += 1
        if let rate { MonotonicClock.sleep(until: start + UInt64(Double(count) / rate * 1e9)) }
    }
    let figures = reader.outputText().split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    guard figures.count == 2 else { throw BenchError("the reader process printed no figures") }
    return figures
}

/// The second process of the bridge benchmark. Prints frames/s and 0, or p50 and p99 of the wake latency in µs.
struct BridgeReader: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "bridge-reader", shouldDisplay: false)

    enum Mode: String, ExpressibleByArgument { case throughput, latency }

    @Argument var path: String
    @Argument var mode: Mode
    @Argument var seconds: Double

    func run() throws {
        var reader = try FrameReader(directory: try BridgeDirectory(path: path, create: false))
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: frameBytes, alignment: 64)
        defer { copy.deallocate() }
        while true {
            if case .frame = try reader.read({ _ in }) { break }
            reader.wait(until: MonotonicClock.now() + 1_000_000)
        }
        var latencies: [Double] = []
        var count = 0
        let start = MonotonicClock.now()
        while secondsSince(start) < seconds {
            let outcome = try reader.read { frame in
                guard mode == .throughput else { return }
                copy.takeOver(luma: frame.luma, chroma: frame.chroma)
            }
            switch outcome {
            case .frame(let info):
                latencies.append(Double(MonotonicClock.now() - info.publishedAt) / 1000)
                count += 1
            case .unchanged, .noFrame: reader.wait(until: MonotonicClock.now() + 100_000_000)
            case .contended: break
            }
        }
        switch mode {
        case .throughput: print(Double(count) / secondsSince(start), 0)
        case .latency: print(latencies.median ?? 0, latencies.percentile(99) ?? 0)
        }
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Takes over both planes, one behind the other.
    fileprivate func takeOver(luma: RawSpan, chroma: RawSpan) {
        luma.withUnsafeBytes { copyMemory(from: .init(rebasing: $0[..<lumaBytes])) }
        chroma.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: self[lumaBytes...])
                .copyMemory(from: .init(rebasing: $0[..<(lumaBytes / 2)]))
        }
    }
}
