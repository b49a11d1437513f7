package import Media
package import Pixels
import Posix
import Synchronization
package import Time

/// What all see of the screen, and how. Any thread may use this.
package final class SharedView: Sendable {
    private struct State {
        var viewport: PixelRect?
        var changedAt = Instant.start
        var legibility: Legibility
    }

    private let state: Mutex<State>

    package init(legibility: Legibility = .off) { state = Mutex(State(legibility: legibility)) }

    /// A part of the screen, in its pixels and with even edges; nil for the whole.
    package var viewport: PixelRect? { state.withLock(\.viewport) }
    /// When the viewport was.
    package var changedAt: Instant { state.withLock(\.changedAt) }
    package var legibility: Legibility { state.withLock(\.legibility) }

    func set(_ viewport: PixelRect?) {
        state.withLock { ($0.viewport, $0.changedAt) = (viewport, MonotonicClock.now()) }
    }

    func set(_ legibility: Legibility) { state.withLock { $0.legibility = legibility } }
}
