import NIOPosix
import Posix
import Synchronization
package import Time

extension WebService {
    /// Where snapshots come from.
    package struct SnapshotSource: Sendable {
        /// The instant before which no picture may have been taken that is shown now; nil for none. Asked on the server's thread too.
        package var horizon: @Sendable () -> Instant?
        /// The current picture, or a sentence why there is none. May block.
        package var picture: @Sendable () -> Result<Snapshot, SnapshotFailure>

        package init(
            horizon: @escaping @Sendable () -> Instant?,
            picture: @escaping @Sendable () -> Result<Snapshot, SnapshotFailure>
        ) {
            self.horizon = horizon
            self.picture = picture
        }
    }

    package struct Snapshot: Sendable {
        package let png: [UInt8]
        /// When it was taken from the screen.
        package let takenAt: Instant

        package init(png: [UInt8], takenAt: Instant) {
            self.png = png
            self.takenAt = takenAt
        }
    }

    package struct SnapshotFailure: Error, CustomStringConvertible {
        package let description: String

        package init(_ description: String) { self.description = description }
    }
}

/// Makes snapshots on a thread of its own, one at a time. A snapshot answers all requests that wait for it, and those that
/// come soon after it unless it is beyond the broadcast's horizon by then.
final class SnapshotDesk: Sendable {
    typealias Snapshot = Result<WebService.Snapshot, WebService.SnapshotFailure>
    typealias Completion = @Sendable (Snapshot) -> Void

    private struct State {
        var waiting: [Completion] = []
        var latest: (snapshot: WebService.Snapshot, madeAt: Instant)?
    }

    /// The most snapshots that are made for one request: each may be beyond the horizon when it is made, as the broadcast may be
    /// paused meanwhile.
    private static let mostTries = 3
    /// How long a snapshot answers further requests.
    private static let freshness = Duration.seconds(1)

    private let source: WebService.SnapshotSource
    private let state = Mutex(State())
    private let thread = NIOThreadPool(numberOfThreads: 1)

    init(_ source: WebService.SnapshotSource) {
        self.source = source
        thread.start()
    }

    /// - Parameter completion: called once, on any thread.
    func take(_ completion: @escaping Completion) {
        let isFirst = state.withLock { state in
            state.waiting.append(completion)
            return state.waiting.count == 1
        }
        guard isFirst else { return }
        thread.submit { [self] state in
            if case .active = state { finish(snapshot()) } else { finish(.failure(.init("the broadcast is ending"))) }
        }
    }

    private func snapshot() -> Snapshot {
        let now: Instant = MonotonicClock.now()
        let latest = state.withLock { $0.latest }
        if let latest, isInSight(latest.snapshot), now - latest.madeAt < Self.freshness {
            return .success(latest.snapshot)
        }
        for _ in 0..<Self.mostTries {
            let snapshot = source.picture()
            guard case .success(let made) = snapshot else { return snapshot }
            guard isInSight(made) else { continue }
            state.withLock { $0.latest = (made, MonotonicClock.now()) }
            return snapshot
        }
        return .failure(.init("there is no picture yet: try again"))
    }

    /// Whether a snapshot may still be seen.
    func isInSight(_ snapshot: WebService.Snapshot) -> Bool { source.horizon().map { snapshot.takenAt >= $0 } ?? true }

    private func finish(_ snapshot: Snapshot) {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for completion in waiting { completion(snapshot) }
    }

    /// Waits for the snapshot that is being made.
    func close() { try? thread.syncShutdownGracefully() }
}
