import FrameBridge
import Posix
import TestSupport
import Testing
import Time

@testable import Sender

/// What is heard in a pause, against a writer of frames in the same process.
@Suite struct BroadcastPausesTests {
    private let folder = try! TemporaryDirectory()

    private func directory() throws -> BridgeDirectory {
        try BridgeDirectory(path: folder.file("bridge"), create: true)
    }

    private static func publish(_ writer: inout FrameWriter) throws {
        let source = SourceRectangle(x: 0, y: 0, width: 64, height: 64)
        try writer.publish(FrameInfo(width: 64, height: 64, capturedAt: MonotonicClock.now(), source: source)) { _ in }
    }

    /// A look at the broadcast: whether it is paused, and the horizon.
    private static func look(
        _ pauses: inout BroadcastPauses,
        isThorough: Bool
    ) -> (isPaused: Bool, horizon: Instant?) {
        pauses.look(isThorough: isThorough)
        return (pauses.isPaused, pauses.horizon)
    }

    private enum Kind: CaseIterable {
        /// Behind a slate, as seen by a look into memory or not seen at all.
        case seen, unseen
        /// With a picture that was there before.
        case frozen
    }

    /// Invariant: muted.
    @Test(arguments: Kind.allCases, [true, false])
    private func nothingIsHeardOfAPause(kind: Kind, isThorough: Bool) throws {
        let directory = try directory()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        try Self.publish(&writer)
        var pauses = BroadcastPauses(of: try FrameReader(directory: directory))
        let before = Self.look(&pauses, isThorough: true)
        #expect(try !before.isPaused && #require(before.horizon) <= MonotonicClock.now())

        if kind != .frozen { writer.hide(before: MonotonicClock.now()) }
        try writer.setState(.paused)
        if kind == .seen { #expect(Self.look(&pauses, isThorough: isThorough).isPaused) }
        let inThePause: Instant = MonotonicClock.now()
        try writer.setState(.active)
        let resumed: Instant = MonotonicClock.now()
        let after = Self.look(&pauses, isThorough: isThorough)
        #expect(!after.isPaused)
        #expect(try inThePause...resumed ~= #require(after.horizon))

        // Another size of the screen hides nothing.
        writer.startOver()
        try Self.publish(&writer)
        for _ in 0..<2 { #expect(Self.look(&pauses, isThorough: isThorough).horizon == after.horizon) }
    }

    @Test func whatWasPausedAtTheEndStaysSo() throws {
        let directory = try directory()
        var writer: FrameWriter? = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        try Self.publish(&writer!)
        try writer!.setState(.paused)
        var pauses = BroadcastPauses(of: try FrameReader(directory: directory))
        #expect(Self.look(&pauses, isThorough: true).isPaused)
        writer = nil
        for isThorough in [false, true, false] { #expect(Self.look(&pauses, isThorough: isThorough).isPaused) }
    }
}
