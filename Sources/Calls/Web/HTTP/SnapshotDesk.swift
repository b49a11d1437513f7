import NIOPosix
import Posix
import RTP
import Synchronization

/// Makes snapshots on a thread of its own, one at a time: a picture is for all who wait for it or come soon after.
final class SnapshotDesk: Sendable {
    typealias Snapshot = Result<[UInt8], WebService.SnapshotFailure>
    typealias Completion = @Sendable (Snapshot) -> Void

    private struct State {
        var waiting: [Completion] = []
        var latest: (picture: [UInt8], madeAt: UInt64)?
    }

    /// Nanoseconds for which a picture is new.
    private static let freshness: UInt64 = 1_000_000_000

    private let make: @Sendable () -> Snapshot
    private let state = Mutex(State())
    private let thread = NIOThreadPool(numberOfThreads: 1)

    /// - Parameter make: may block.
    init(make: @escaping @Sendable () -> Snapshot) {
        self.make = make
        thread.start()
    }

    /// - Parameter completion: called once, on any thread.
    func take(_ completion: @escaping Completion) {
        let now = MonotonicClock.now()
        let (fresh, isFirst) = state.withLock { state -> ([UInt8]?, Bool) in
            if let latest = state.latest, now.subtracting(clamped: latest.madeAt) < Self.freshness {
                return (latest.picture, false)
            }
            state.waiting.append(completion)
            return (nil, state.waiting.count == 1)
        }
        if let fresh { return completion(.success(fresh)) }
        guard isFirst else { return }
        thread.submit { [self] state in
            if case .active = state { finish(make()) } else { finish(.failure(.init("the broadcast is ending"))) }
        }
    }

    private func finish(_ snapshot: Snapshot) {
        let waiting = state.withLock { state in
            if case .success(let picture) = snapshot { state.latest = (picture, MonotonicClock.now()) }
            defer { state.waiting = [] }
            return state.waiting
        }
        for completion in waiting { completion(snapshot) }
    }

    /// Waits for the snapshot that is being made.
    func close() { try? thread.syncShutdownGracefully() }
}
