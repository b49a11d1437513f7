import NIOPosix
import Posix
import Synchronization
package import Time

extension WebService {
    package struct SnapshotSource: Sendable {
        /// The horizon, before which no picture may be shown now; nil for no limit. Called on any thread.
        package var horizon: @Sendable () -> Instant?
        /// The current picture, or the reason why there is none. May block.
        package var picture: @Sendable () -> Result<Snapshot, SnapshotFailure>
        /// When another part of the source was chosen last. A snapshot from before is not given again.
        package var changedAt: @Sendable () -> Instant = { .start }

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
        package let captureTime: Instant

        package init(png: [UInt8], captureTime: Instant) {
            self.png = png
            self.captureTime = captureTime
        }
    }

    package struct SnapshotFailure: Error, CustomStringConvertible {
        package let description: String

        package init(_ description: String) { self.description = description }
    }
}

/// Makes snapshots on a thread of its own, one at a time. A snapshot answers all requests that wait for it, and those that
/// come soon after it unless it is beyond the broadcast's horizon by then.
///
/// Slow readers keep old snapshots in memory, of several megabytes each. While `mostKept` are kept, no other is made, and the oldest is
/// given up after `sendingTime`.
final class SnapshotDesk: Sendable {
    /// A snapshot that is kept as long as it is sent to somebody.
    final class Made: Sendable {
        let picture: WebService.Snapshot
        fileprivate let madeAt: Instant
        fileprivate let isGivenUp = Atomic(false)

        fileprivate init(_ picture: WebService.Snapshot, at instant: Instant) {
            (self.picture, madeAt) = (picture, instant)
        }
    }

    typealias Snapshot = Result<Made, WebService.SnapshotFailure>
    typealias Completion = @Sendable (Snapshot) -> Void

    private struct Reference {
        weak var made: Made?
    }

    private struct State {
        var waiting: [Completion] = []
        var latest: Made?
        /// All that somebody may have, the oldest first.
        var made: [Reference] = []
    }

    /// The most snapshots that are kept, with the latest.
    static let mostKept = 4

    /// The most snapshots that are made for one request: each may be beyond the horizon when it is made, as the broadcast may be
    /// paused meanwhile.
    private static let mostTries = 3
    /// The time for which a snapshot answers further requests.
    private let freshness: Duration
    /// The least time for sending a snapshot before it is given up for a new one.
    private let sendingTime: Duration

    private let source: WebService.SnapshotSource
    private let state = Mutex(State())
    private let thread = NIOThreadPool(numberOfThreads: 1)

    init(
        _ source: WebService.SnapshotSource,
        freshness: Duration = .seconds(1),
        sendingTime: Duration = .seconds(10)
    ) {
        (self.source, self.freshness, self.sendingTime) = (source, freshness, sendingTime)
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
        if let latest, isInSight(latest), latest.madeAt > source.changedAt(),
            now - latest.madeAt < freshness || !hasRoom(at: now)
        {
            return .success(latest)
        }
        guard hasRoom(at: now) else { return .failure(.init("too many snapshots are on their way: try again")) }
        for _ in 0..<Self.mostTries {
            let begun: Instant = MonotonicClock.now()
            switch source.picture() {
            case .failure(let failure): return .failure(failure)
            case .success(let picture):
                let made = Made(picture, at: begun)
                guard isInSight(made) else { continue }
                state.withLock { state in
                    state.latest = made
                    state.made.append(Reference(made: made))
                }
                return .success(made)
            }
        }
        return .failure(.init("there is no picture yet: try again"))
    }

    /// Whether one more snapshot may be kept. If not, the oldest is given up once it was sent for long enough.
    private func hasRoom(at now: Instant) -> Bool {
        state.withLock { state in
            state.made.removeAll { $0.made == nil }
            if state.made.count < Self.mostKept { return true }
            if let oldest = state.made.first?.made, now - oldest.madeAt >= sendingTime {
                oldest.isGivenUp.store(true, ordering: .relaxed)
            }
            return false
        }
    }

    /// Whether a snapshot may still be sent.
    func isInSight(_ made: Made) -> Bool {
        !made.isGivenUp.load(ordering: .relaxed) && source.horizon().map { made.picture.captureTime >= $0 } ?? true
    }

    private func finish(_ snapshot: Snapshot) {
        let waiting = state.withLock { exchange(&$0.waiting, with: []) }
        for completion in waiting { completion(snapshot) }
    }

    /// Waits for the snapshot that is being made.
    func close() { try? thread.syncShutdownGracefully() }
}
