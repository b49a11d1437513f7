import Posix
import Synchronization

/// The instant before which nothing may be shown any more: a person paused the broadcast then, or chose something else to be
/// shown.
///
/// It stands in the frames' header before `oriel pause` returns, and never goes back. Whoever keeps pictures of a broadcast,
/// or what was made of them, looks here before showing them, from any thread.
public final class Horizon: Sendable {
    /// Of the current generation. Used under the lock only.
    private struct Header: @unchecked Sendable {
        let mapping: Mapping
    }

    private struct State {
        var header: Header?
        var latest: UInt64 = 0
    }

    private let state = Mutex(State())

    /// What was captured before this instant is to be forgotten: nanoseconds of CLOCK_MONOTONIC.
    public var instant: UInt64 {
        state.withLock { state in
            guard let header = state.header?.mapping else { return state.latest }
            let (found, heartbeat) =
                header.guarded {
                    (header.loadAcquiring64(Layout.Header.horizon), header.loadAcquiring64(Layout.Header.heartbeat))
                } ?? (0, 0)
            // A later one is damage, and would stay for ever.
            if found <= heartbeat { state.latest = max(state.latest, found) }
            return state.latest
        }
    }

    /// Looks into another generation from now on.
    ///
    /// - Parameter header: used here alone from now on.
    func follow(_ header: sending Mapping?) {
        _ = instant
        let header = header.map { Header(mapping: $0) }
        state.withLock { $0.header = header }
    }
}
