import Calls
import Configuration
import Control
import FrameBridge
import Glibc
import Pixels
import Posix
import Sender
import Synchronization
import TestSupport
import Testing
import Time

@testable import Publishing

/// A whole sender in this process, without its sandbox.
@Suite struct PublisherTests {
    private let folder: TemporaryDirectory
    private let directory: BridgeDirectory

    init() throws {
        folder = try TemporaryDirectory()
        directory = try BridgeDirectory(path: folder.file("bridge"), create: true)
    }

    /// A broadcast with a picture, and a sender on a thread of its own, as its signals are blocked.
    private final class Running {
        private let result = Shared()
        private var writer: FrameWriter?
        private var thread: Thread?

        private final class Shared: Sendable {
            let end = Mutex<Result<SenderLoop.End?, any Error>?>(nil)
        }

        init(_ settings: SenderProcessSettings, in directory: BridgeDirectory) throws {
            var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
            let source = SourceRectangle(x: 0, y: 0, width: 64, height: 64)
            let info = FrameInfo(width: 64, height: 64, capturedAt: MonotonicClock.now(), source: source)
            try writer.publish(info) { _ in }
            try writer.setState(.active)
            self.writer = consume writer
            thread = try Thread { [result] in
                let end = Result { try Self.publish(settings) }
                result.end.withLock { $0 = end }
            }
        }

        private static func publish(_ settings: SenderProcessSettings) throws -> SenderLoop.End? {
            let plans = try settings.calls.map { try CallKinds.own.plan($0) }
            let signals = try TerminationSignals()
            var ends = Ends()
            guard let endowment = try Endowment(settings, for: plans, &ends, until: signals) else { return nil }
            var publisher = try Publisher(endowment, &ends)
            return try publisher.run(until: signals)
        }

        var hasEnded: Bool { result.end.withLock { $0 != nil } }

        /// Waits for the sender's end, and ends the broadcast.
        func end() throws -> SenderLoop.End? {
            let outcome = Result {
                try wait(until: "the sender has ended") { hasEnded }
            }
            try writer.take()?.stop()
            thread.take()?.join()
            try outcome.get()
            return try result.end.withLock { try $0?.get() ?? nil }
        }
    }

    private var settings: SenderProcessSettings {
        var settings = SenderProcessSettings(of: directory.path, into: ["rtp://127.0.0.1:9"])
        settings.video.size = PixelSize(width: 64, height: 64)
        settings.plain.sdp = folder.file("sdp")
        settings.files.events = folder.file("events")
        return settings
    }

    /// Runs a sender, and leaves its call.
    private func runAndLeave() throws -> SenderLoop.End? {
        let running = try Running(settings, in: directory)
        let senders = Senders(of: directory)
        // A busy machine may answer too late for one request.
        try wait(until: "the sender has ended") {
            _ = try? senders.ask(getpid(), for: .leave(call: "rtp://127.0.0.1:9"))
            return running.hasEnded
        }
        return try running.end()
    }

    @Test func aSenderRunsUntilItsLastCallIsLeft() throws {
        #expect(try runAndLeave() == .callsEnded)
        let sdp = try FileDescriptor.open(folder.file("sdp"), O_RDONLY).readBytes(1 << 16)
        #expect(String(decoding: sdp, as: UTF8.self).hasPrefix("v=0"))
        #expect(Senders(of: directory).reports().isEmpty)
    }

    /// Before the sandbox, and after it.
    @Test func whatCannotBeginLeavesRoomForAnother() throws {
        let taken = try UDPSocket(family: AF_INET)
        var faulty = [settings, settings, settings]
        faulty[0].files.statistics = folder.file("none/stats")
        faulty[1].calls = ["web"]
        (faulty[1].web.server.certificate, faulty[1].web.server.key) = (folder.file("none"), folder.file("none"))
        faulty[2].plain.localPort = try taken.localAddress().port
        let port = try #require(faulty[2].plain.localPort)
        for (settings, word) in zip(faulty, [folder.file("none/stats"), folder.file("none"), "\(port)"]) {
            let running = try Running(settings, in: directory)
            try wait(until: "it has failed") { running.hasEnded }
            let error = #expect(throws: (any Error).self) { try running.end() }
            #expect(error.map { "\($0)" }?.contains(word) ?? false, "\(String(describing: error))")
            #expect(Senders(of: directory).reports().isEmpty)
        }
        #expect(try runAndLeave() == .callsEnded)
    }
}
