import Posix
import Synchronization
public import Time

/// The not-before time: nothing captured earlier may be shown any more. A person paused the broadcast then, or chose
/// another source.
///
/// It stands in the frames' header before `oriel pause` returns, and never goes back. Code that keeps pictures of a
/// broadcast, or data made from them, asks it before showing them. Any thread may ask.
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

    /// Captures before this instant must be forgotten; nil if there is no such instant.
    public var instant: Instant? {
        state.withLock { state in
            // A future instant is of another clock, as before a restart of the machine.
            if let found = state.header?.mapping.horizon, found <= MonotonicClock.now() {
                state.latest = max(state.latest ?? found, found)
            }
            return state.latest
        }
    }

    /// Whether a capture of an instant may not be shown any more.
    public func hides(_ instant: Instant) -> Bool { self.instant.map { instant < $0 } ?? false }

    /// Uses the header of another generation from now on.
    ///
    /// - Parameter header: used here alone from now on.
    func replaceHeader(_ header: sending Mapping?) {
        _ = instant
        let header = header.map { Header(mapping: $0) }
        state.withLock { $0.header = header }
    }
}
