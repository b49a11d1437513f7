import Synchronization
import TestSupport
import Testing
import Time

@testable import Calls

@Suite struct SnapshotDeskTests {
    /// A desk whose snapshots are of one byte with their number, which is also when they were taken, in seconds.
    ///
    /// - Parameters:
    ///   - freshness: without any, each snapshot is a new one, as far as there is room.
    ///   - horizon: in seconds.
    private func desk(
        freshness: Duration = .zero,
        sendingTime: Duration,
        horizon: @escaping @Sendable () -> UInt8? = { nil }
    ) -> SnapshotDesk {
        let count = Mutex<UInt8>(0)
        let source = WebService.SnapshotSource {
            horizon().map { .seconds(Double($0)) }
        } picture: {
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .success(WebService.Snapshot(png: [number], captureTime: .seconds(Double(number))))
        }
        return SnapshotDesk(source, freshness: freshness, sendingTime: sendingTime)
    }

    private func take(from desk: SnapshotDesk) throws -> SnapshotDesk.Made {
        let taken = Mutex<SnapshotDesk.Snapshot?>(nil)
        desk.take { snapshot in taken.withLock { $0 = snapshot } }
        try wait(until: "it is there") { taken.withLock { $0 != nil } }
        return try #require(try taken.withLock(\.self)?.get())
    }

    @Test func whoComesSoonAfterAnotherGetsTheSameSnapshot() throws {
        let horizon = Mutex<UInt8?>(nil)
        let desk = desk(freshness: .seconds(3600), sendingTime: .seconds(1000)) { horizon.withLock(\.self) }
        defer { desk.close() }
        for _ in 0..<3 { #expect(try take(from: desk).picture.png == [1]) }
        // Paused, and going on again.
        horizon.withLock { $0 = 2 }
        for _ in 0..<3 { #expect(try take(from: desk).picture.png == [2]) }
    }

    @Test func thoseWhoReadSlowlyKeepFewSnapshots() throws {
        let desk = desk(sendingTime: .seconds(1000))
        defer { desk.close() }
        var kept = try (0..<SnapshotDesk.mostKept).map { _ in try take(from: desk) }
        #expect(kept.map(\.picture.png) == [[1], [2], [3], [4]])
        for _ in 0..<10 { #expect(try take(from: desk).picture.png == [4]) }
        for made in kept { #expect(desk.isInSight(made)) }
        // Where one has been sent there is room for another.
        kept.removeFirst()
        kept.append(try take(from: desk))
        #expect(kept.last?.picture.png == [5])
        #expect(try take(from: desk).picture.png == [5])
    }

    @Test func theOldestOfTooManySnapshotsIsGivenUp() throws {
        let desk = desk(sendingTime: .zero)
        defer { desk.close() }
        let kept = try (0..<SnapshotDesk.mostKept).map { _ in try take(from: desk) }
        for made in kept { #expect(desk.isInSight(made)) }
        #expect(try take(from: desk).picture.png == [4])
        #expect(kept.map { desk.isInSight($0) } == [false, true, true, true])
    }
}
