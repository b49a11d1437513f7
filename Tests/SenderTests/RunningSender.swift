import FrameBridge
import Media
import Pixels
import Posix
import Sender
import Synchronization
import TestSupport
import Testing
import Time

/// A broadcast of small pictures, and a sender at work on a thread of its own.
final class RunningSender {
    static let size = PixelSize(width: 64, height: 64)

    let sinks: Sinks
    /// The sentences that were reported.
    let reports: Reports
    private let folder: TemporaryDirectory
    private var writer: FrameWriter?
    private var thread: Thread?
    private var count: UInt8 = 0

    final class Reports: Sendable {
        let sentences = Mutex<[String]>([])
        let conditions = Mutex<[BroadcastCondition]>([])
        var all: [String] { sentences.withLock { $0 } }
    }

    init(_ renditions: [Rendition]) throws {
        let folder = try TemporaryDirectory()
        let directory = try BridgeDirectory(path: folder.file("bridge"), create: true)
        writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        let reports = Reports()
        let report = { @Sendable (sentence: String) in reports.sentences.withLock { $0.append(sentence) } }
        let sinks = Sinks(target: TargetBitrate(1_000_000), report: report)
        self.folder = folder
        self.sinks = sinks
        self.reports = reports
        // The signals of a sender are blocked in its thread.
        thread = try Thread {
            do {
                var loop = SenderLoop(
                    renditions,
                    SenderSettings(wakesEarly: true, keyframeInterval: nil),
                    reader: try FrameReader(directory: directory),
                    sound: SoundReader(directory: directory),
                    sinks: sinks,
                    report: report
                )
                _ = try loop.run(until: TerminationSignals(), orWhen: { false }) { condition in
                    reports.conditions.withLock { $0.append(condition) }
                } eachSecond: { _ in
                }
            } catch {
                report("ended: \(error)")
            }
        }
        try publish()
        try writer!.setState(.active)
    }

    /// Publishes another picture. Returns when it was taken.
    @discardableResult
    func publish() throws -> Instant {
        count &+= 40
        return try publishAgain()
    }

    /// Hides all that was captured so far, and publishes the same pixels anew. Returns when they were taken.
    func hideAndPublishAgain() throws -> Instant {
        writer!.hide(before: MonotonicClock.now())
        return try publishAgain()
    }

    private func publishAgain() throws -> Instant {
        let value = count
        let now: Instant = MonotonicClock.now()
        let source = SourceRectangle(x: 0, y: 0, width: Self.size.width, height: Self.size.height)
        let info = FrameInfo(width: Self.size.width, height: Self.size.height, capturedAt: now, source: source)
        try writer!.publish(info) { planes in
            planes.withPlanes { luma, chroma in
                for offset in luma.byteOffsets { luma.storeBytes(of: value, toByteOffset: offset, as: UInt8.self) }
                for offset in chroma.byteOffsets { chroma.storeBytes(of: 128, toByteOffset: offset, as: UInt8.self) }
            }
        }
        return now
    }

    /// Publishes pictures one by one, each when the one before has come to a sink in a rendition.
    func show(_ pictures: Int, to sink: TestSink, in rendition: Rendition) throws {
        for _ in 0..<pictures {
            let captureTime = try publish()
            try wait(until: "the picture comes") {
                sink.frames(of: rendition).contains { $0.frame.captureTime == captureTime }
            }
        }
    }

    /// Ends the broadcast, and waits for the sender's end.
    func finish() throws {
        try writer.take()?.stop()
        thread.take()?.join()
    }
}

extension Rendition {
    /// A small one in VP8.
    static func small(_ number: Int, side: Int = 64, bitrate: Int = 1_000_000) -> Rendition {
        Rendition(id: ID(number), codec: .vp8, width: side, height: side, framesPerSecond: 60, bitrate: bitrate)
    }
}
