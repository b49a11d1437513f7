import FrameBridge
import Media
import Pixels
import Posix
import Synchronization
import TestSupport
import Testing
import Time
import VideoEncoding

@testable import Sender

@Suite struct SenderLoopTests {
    /// Ends the broadcast with its first frame.
    private final class Call: MediaSink {
        private struct State: ~Copyable {
            var writer: FrameWriter?
            var captureTime: Instant?
        }

        private let state: Mutex<State>

        init(_ writer: consuming sending FrameWriter) { state = Mutex(State(writer: writer)) }

        /// When the first frame's picture was taken.
        var captureTime: Instant? { state.withLock { $0.captureTime } }

        func setWaker(_ wake: @escaping @Sendable () -> Void) {}
        func demand(for rendition: Rendition.ID, at now: Instant) -> Demand { Demand(isWanted: true) }
        func send(_ bytes: Span<UInt8>, _ frame: EncodedFrame) throws {
            try state.withLock { state in
                state.captureTime = state.captureTime ?? frame.captureTime
                if let writer = state.writer.take() { try writer.stop() }
            }
        }
        func prefer(_ rendition: Rendition) {}

        func soundDemand(at now: Instant) -> SoundDemand { .none }

        func send(sound packet: Span<UInt8>, _ sound: EncodedSound) {}
    }

    /// Invariant: oneClock.
    @Test func aPictureFromTheFutureIsOfNow() throws {
        let captureTime = try Self.instantSent(capturedAt: Instant(nanoseconds: .max))
        #expect(captureTime <= MonotonicClock.now())
    }

    @Test func aPictureFromThePastIsOfThen() throws {
        #expect(try Self.instantSent(capturedAt: .nanoseconds(42)) == .nanoseconds(42))
    }

    /// When a picture was taken that a loop sends, on a thread whose signals are blocked.
    private static func instantSent(capturedAt: Instant) throws -> Instant {
        let result = Mutex<Result<Instant?, any Error>?>(nil)
        let thread = try Thread {
            let outcome = Result { try run(capturedAt: capturedAt) }
            result.withLock { $0 = outcome }
        }
        thread.join()
        return try #require(try result.withLock { try $0?.get() } ?? nil)
    }

    private static func run(capturedAt: Instant) throws -> Instant? {
        let folder = try TemporaryDirectory()
        let directory = try BridgeDirectory(path: folder.file("bridge"), create: true)
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        let source = SourceRectangle(x: 0, y: 0, width: 64, height: 64)
        try writer.publish(FrameInfo(width: 64, height: 64, capturedAt: capturedAt, source: source)) { _ in }
        try writer.setState(.active)
        let call = Call(writer)
        let sinks = Sinks(target: TargetBitrate(1_000_000)) { Issue.record("\($0)") }
        sinks.add(call)
        var loop = SenderLoop(
            [rendition],
            SenderSettings(wakesEarly: true, keyframeInterval: nil),
            reader: try FrameReader(directory: directory),
            sound: SoundReader(directory: directory),
            sinks: sinks,
            report: { _ in }
        )
        let end = try loop.run(until: TerminationSignals(), orWhen: { false }) { _ in
        } eachSecond: { _ in
        }
        #expect(end == .broadcastStopped)
        return call.captureTime
    }

    /// The thread has other things to do than frames, and comes back to them in time, though nothing else is due for long.
    @Test func aDeadlineOfAnotherIsKept() throws {
        let time = try Self.timeOfTurns { _ in MonotonicClock.now() + .milliseconds(1) }
        #expect(time < SenderEngine.unwatchedInterval)
    }

    /// A ring that comes when the deadline has just been asked for.
    @Test func aWakeBetweenTurnAndSleepIsNotLost() throws {
        let time = try Self.timeOfTurns { sinks in
            sinks.bell.ring()
            return nil
        }
        #expect(time < SenderEngine.unwatchedInterval)
    }

    /// The time from one turn to the next of a loop without sinks: the median, as some are late on a busy machine, and some are rung for.
    /// Without what `turn` asks for, it is `SenderEngine.unwatchedInterval` at the least.
    private static func timeOfTurns(_ turn: @escaping @Sendable (Sinks) -> Instant?) throws -> Duration {
        let result = Mutex<Result<Duration, any Error>?>(nil)
        let thread = try Thread {
            let outcome = Result {
                let folder = try TemporaryDirectory()
                let directory = try BridgeDirectory(path: folder.file("bridge"), create: true)
                let writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
                let sinks = Sinks(target: TargetBitrate(1_000_000)) { Issue.record("\($0)") }
                var loop = SenderLoop(
                    [rendition],
                    SenderSettings(wakesEarly: true, keyframeInterval: nil),
                    reader: try FrameReader(directory: directory),
                    sound: SoundReader(directory: directory),
                    sinks: sinks,
                    report: { _ in }
                )
                var turns: [Instant] = []
                let end = try loop.run(until: TerminationSignals(), orWhen: { turns.count == 22 }) { _ in
                } also: {
                    turns.append(MonotonicClock.now())
                    return turn(sinks)
                } eachSecond: { _ in
                }
                withExtendedLifetime(writer) {}
                #expect(end == .callsEnded)
                return zip(turns, turns.dropFirst()).map { $1 - $0 }.sorted()[10]
            }
            result.withLock { $0 = outcome }
        }
        thread.join()
        return try #require(try result.withLock { try $0?.get() })
    }

    private static let rendition = Rendition(
        id: Rendition.ID(0),
        codec: .vp8,
        width: 64,
        height: 64,
        framesPerSecond: 30,
        bitrate: 1_000_000
    )
}
