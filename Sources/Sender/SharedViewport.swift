package import Pixels
import Posix
import Synchronization
package import Time

/// The part of the screen that all see, in its pixels and with even edges; nil for the whole. Any thread may use this.
package final class SharedViewport: Sendable {
    private let state = Mutex<(rectangle: PixelRect?, at: Instant)>((nil, .start))

    package init() {}

    package var current: PixelRect? { state.withLock(\.rectangle) }
    package var changedAt: Instant { state.withLock(\.at) }

    func set(_ viewport: PixelRect?) { state.withLock { $0 = (viewport, MonotonicClock.now()) } }
}
