import NIOPosix
import Posix
import RTP
import Synchronization

/// Makes snapshots on a thread of its own, one at a time: a picture is for all who wait for it, and for who comes soon
/// after unless the broadcast was paused in between.
final class SnapshotDesk: Sendable {
    typealias Snapshot = Result<[UInt8], WebService.SnapshotFailure>
    typealias Completion = @Sendable (Snapshot) -> Void

    private struct State {
        var waiting: [Completion] = []
        var latest: Latest?
    }

    private struct Latest {
        let picture: [UInt8]
        let madeAt: UInt64
        /// How the broadcast was before it was made.
        let condition: String
    }

    /// Nanoseconds for which a picture is new.
    private static let freshness: UInt64 = 1_000_000_000

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
        let condition = source.condition()
        let now = MonotonicClock.now()
        let latest = state.withLock { $0.latest }
        if let latest, latest.condition == condition, now.subtracting(clamped: latest.madeAt) < Self.freshness {
            return .success(latest.picture)
        }
        let snapshot = source.picture()
        if case .success(let picture) = snapshot {
            state.withLock {
                $0.latest = Latest(picture: picture, madeAt: MonotonicClock.now(), condition: condition)
            }
        }
        return snapshot
    }

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
