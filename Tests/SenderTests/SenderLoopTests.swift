import FrameBridge
import Media
import Pixels
import Posix
import Synchronization
import TestSupport
import Testing
import VideoEncoding

@testable import Sender

@Suite struct SenderLoopTests {
    /// A call that ends the broadcast with its first frame.
    private final class Call: VideoCall {
        let bell = Bell()
        let codecs = [VideoCodec.vp8]
        var backlog: UInt64 { 0 }
        var writer: FrameWriter?
        /// When the first frame's picture was taken.
        var takenAt: UInt64?

        func send(_ frame: Span<UInt8>, codec: VideoCodec, isKeyframe: Bool, capturedAt: UInt64, takenAt: UInt64) {
            self.takenAt = self.takenAt ?? takenAt
            if let writer = writer.take() { try? writer.stop() }
        }

        func takeKeyframeRequest(_ codec: VideoCodec) -> Bool { false }
        func prefer(_ codec: VideoCodec) {}
        func noteLiveness(_ liveness: Liveness) {}
    }

    @Test func aPictureFromTheFutureIsOfNow() throws {
        let takenAt = try Self.instantSent(capturedAt: .max)
        #expect(takenAt <= MonotonicClock.now())
    }

    @Test func aPictureFromThePastIsOfThen() throws { #expect(try Self.instantSent(capturedAt: 42) == 42) }

    /// When a picture was taken that a loop sends, on a thread whose signals are blocked.
    private static func instantSent(capturedAt: UInt64) throws -> UInt64 {
        let result = Mutex<Result<UInt64?, any Error>?>(nil)
        let thread = try Thread {
            let outcome = Result { try run(capturedAt: capturedAt) }
            result.withLock { $0 = outcome }
        }
        thread.join()
        return try #require(try result.withLock { try $0?.get() } ?? nil)
    }

    private static func run(capturedAt: UInt64) throws -> UInt64? {
        let folder = try TemporaryDirectory()
        let directory = try BridgeDirectory(path: folder.file("bridge"), create: true)
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        let source = SourceRectangle(x: 0, y: 0, width: 64, height: 64)
        try writer.publish(FrameInfo(width: 64, height: 64, capturedAt: capturedAt, source: source)) { _ in }
        try writer.setState(.active)
        let call = Call()
        call.writer = consume writer
        var loop = SenderLoop(
            SenderSettings(
                size: PixelSize(width: 64, height: 64),
                bitrate: 1_000_000,
                framesPerSecond: 30,
                wakesEarly: true,
                keyframeInterval: nil
            ),
            reader: try FrameReader(directory: directory),
            call: call,
            report: { _ in }
        )
        let end = try loop.run(until: TerminationSignals()) { _ in }
        #expect(end == .broadcastStopped)
        return call.takenAt
    }
}
