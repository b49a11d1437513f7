/// A rectangle of whole pixels: columns `x..<x + width`, and rows alike. `x` and `y` may be negative, the size may not.
package struct PixelRect: Equatable, Hashable, Sendable {
    package var x: Int
    package var y: Int
    package var size: PixelSize

    package init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.size = PixelSize(width: width, height: height)
    }

    package init(columns: Range<Int>, rows: Range<Int>) {
        self.init(x: columns.lowerBound, y: rows.lowerBound, width: columns.count, height: rows.count)
    }

    /// All of a picture of `size`.
    package init(_ size: PixelSize) {
        self.init(x: 0, y: 0, width: size.width, height: size.height)
    }

    package var width: Int { size.width }
    package var height: Int { size.height }
    package var isEmpty: Bool { size.isEmpty }
    package var columns: Range<Int> { x..<x + width }
    package var rows: Range<Int> { y..<y + height }

    package func moved(x: Int, y: Int) -> PixelRect {
        PixelRect(x: self.x + x, y: self.y + y, width: width, height: height)
    }

    /// The common part, or nil if there is none. A far edge beyond the range of `Int` counts as its end.
    package func intersection(_ other: PixelRect) -> PixelRect? {
        let left = max(x, other.x)
        let top = max(y, other.y)
        let right = min(Self.end(x, width), Self.end(other.x, other.width))
        let bottom = min(Self.end(y, height), Self.end(other.y, other.height))
        guard left < right, top < bottom else { return nil }
        // Neither subtraction overflows: the result is no longer than a side of either rectangle.
        return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
    }

    /// Whether every pixel of `other` is in this rectangle. An empty rectangle is in every other.
    package func contains(_ other: PixelRect) -> Bool {
        other.isEmpty || intersection(other) == other
    }

    /// The smallest rectangle around this one whose edges are all even, as 4:2:0 chroma needs.
    package var expandedToEven: PixelRect {
        PixelRect(columns: x & ~1..<(x + width + 1) & ~1, rows: y & ~1..<(y + height + 1) & ~1)
    }

    /// The largest rectangle with even edges that keeps the shape of `content`, in the middle of `frame`.
    ///
    /// The free direction is rounded to the nearest even length of at least 2, so the shape is off by at most one pixel.
    /// - Parameters:
    ///   - content: Not empty.
    ///   - frame: Even and not empty.
    package static func letterbox(_ content: PixelSize, in frame: PixelSize) -> PixelRect {
        precondition(!content.isEmpty && !frame.isEmpty && frame.isEven)
        var fitted = frame
        if content.width * frame.height >= content.height * frame.width {
            fitted.height = nearestEven(content.height * frame.width, dividedBy: content.width)
        } else {
            fitted.width = nearestEven(content.width * frame.height, dividedBy: content.height)
        }
        return PixelRect(
            x: (frame.width - fitted.width) / 2 & ~1,
            y: (frame.height - fitted.height) / 2 & ~1,
            width: fitted.width,
            height: fitted.height
        )
    }

    private static func nearestEven(_ dividend: Int, dividedBy divisor: Int) -> Int {
        max(2, (dividend + divisor) / (2 * divisor) * 2)
    }

    private static func end(_ start: Int, _ length: Int) -> Int {
        let (sum, overflow) = start.addingReportingOverflow(length)
        return overflow ? .max : sum
    }
}

extension PixelRect: CustomStringConvertible {
    package var description: String { "\(size)+\(x)+\(y)" }
}
