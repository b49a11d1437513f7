package import Pixels
import Synchronization

/// The part of the screen that all see, in its pixels and with even edges; nil for the whole. Any thread may use this.
package final class SharedViewport: Sendable {
    private let rectangle = Mutex<PixelRect?>(nil)

    package init() {}

    package var current: PixelRect? { rectangle.withLock(\.self) }

    func set(_ viewport: PixelRect?) { rectangle.withLock { $0 = viewport } }
}
