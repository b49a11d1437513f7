import Posix
import Synchronization
public import Time

/// The instant before which nothing may be shown any more: a person paused the broadcast then, or chose something else to be
/// shown.
///
/// It stands in the frames' header before `oriel pause` returns, and never goes back. Whoever keeps pictures of a broadcast,
/// or what was made of them, looks here before showing them, from any thread.
public final class Horizon: Sendable {
    /// The header of the current generation. Used under the lock only.
    private struct Header: @unchecked Sendable {
        let mapping: Mapping
    }

    private struct State {
        var header: Header?
        var latest: Instant?
    }

    private let state = Mutex(State())

    /// What was captured before this instant is to be forgotten; nil while there is no such instant.
    public var instant: Instant? {
        state.withLock { state in
            // One of the future counts another clock's time, as before a restart of the machine.
            if let found = state.header?.mapping.horizon, found <= MonotonicClock.now() {
                state.latest = max(state.latest ?? found, found)
            }
            return state.latest
        }
    }

    /// Whether what was captured at an instant may not be shown any more.
    public func hides(_ instant: Instant) -> Bool { self.instant.map { instant < $0 } ?? false }

    /// Looks into another generation from now on.
    ///
    /// - Parameter header: used here alone from now on.
    func replaceHeader(_ header: sending Mapping?) {
        _ = instant
        let header = header.map { Header(mapping: $0) }
        state.withLock { $0.header = header }
    }
}
