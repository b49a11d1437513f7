package import Pixels

/// What somebody does to choose a source: a click, a drag or a key. Sans-IO.
package struct PickGesture {
    package enum Input: Equatable, Sendable {
        case moved(x: Int, y: Int)
        case pressed(x: Int, y: Int)
        case released(x: Int, y: Int)
        case key(Key)
    }

    package enum Key: Equatable, Sendable { case escape, monitor, screen, other }

    package enum Output: Equatable {
        /// What would be chosen now: that under the pointer.
        case hovers
        /// The part that is being dragged.
        case drags(PixelRect)
        case picked(Choice)
        case cancelled
    }

    package enum Choice: Equatable {
        /// The window under the pointer.
        case window
        /// The monitor under the pointer.
        case monitor
        case screen
        case region(PixelRect)
    }

    /// A pointer that is pressed moves as far before it drags.
    private static let dragDistance = 8

    private let screen: PixelRect
    private let takesRegionsOnly: Bool
    private var pressedAt: (x: Int, y: Int)?
    private var isDragging = false

    /// - Parameters:
    ///   - screen: what may be chosen.
    ///   - takesRegionsOnly: whether clicks and keys choose nothing.
    package init(on screen: PixelRect, takesRegionsOnly: Bool) {
        (self.screen, self.takesRegionsOnly) = (screen, takesRegionsOnly)
    }

    package mutating func take(_ input: Input) -> Output {
        switch input {
        case .key(.escape): return .cancelled
        case .key(.monitor) where !takesRegionsOnly: return .picked(.monitor)
        case .key(.screen) where !takesRegionsOnly: return .picked(.screen)
        case .key: return .hovers
        case .pressed(let x, let y):
            (pressedAt, isDragging) = ((x, y), false)
            return .hovers
        case .moved(let x, let y): return drag(to: x, y).map { .drags($0) } ?? .hovers
        case .released(let x, let y):
            let region = drag(to: x, y)
            let wasPressed = pressedAt != nil
            (pressedAt, isDragging) = (nil, false)
            if let region { return .picked(.region(region)) }
            return wasPressed && !takesRegionsOnly ? .picked(.window) : .hovers
        }
    }

    /// The part from where it was pressed, both ends within it; nil before it is dragged.
    private mutating func drag(to x: Int, _ y: Int) -> PixelRect? {
        guard let from = pressedAt else { return nil }
        if max(abs(x - from.x), abs(y - from.y)) >= Self.dragDistance { isDragging = true }
        guard isDragging else { return nil }
        let part = PixelRect(columns: min(x, from.x)..<max(x, from.x) + 1, rows: min(y, from.y)..<max(y, from.y) + 1)
        return part.intersection(screen)
    }
}
