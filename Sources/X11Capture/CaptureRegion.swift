package import Pixels

/// A rectangle in pixels, measured from the top left corner of the screen.
package struct CaptureRegion: Equatable, Hashable, Sendable, CustomStringConvertible {
    package var x: Int
    package var y: Int
    package var width: Int
    package var height: Int

    package init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// As the X protocol has it.
    init(x: Int16, y: Int16, width: UInt16, height: UInt16) {
        self.init(x: Int(x), y: Int(y), width: Int(width), height: Int(height))
    }

    /// The notation of X geometries, such as `1280x720+100+50`.
    package var description: String { "\(width)x\(height)+\(x)+\(y)" }

    package var size: PixelSize { PixelSize(width: width, height: height) }

    package var isEmpty: Bool { width <= 0 || height <= 0 }

    /// The part that both rectangles cover; empty where they do not meet.
    package func intersection(_ other: CaptureRegion) -> CaptureRegion {
        let left = max(x, other.x)
        let top = max(y, other.y)
        let right = min(x + width, other.x + other.width)
        let bottom = min(y + height, other.y + other.height)
        return CaptureRegion(x: left, y: top, width: max(0, right - left), height: max(0, bottom - top))
    }
}

extension CaptureRegion {
    /// The largest coordinate the X protocol can express.
    package static let limit = Int(Int16.max)

    /// Parses `WIDTHxHEIGHT+X+Y`: width and height 1...32767, x and y 0...32767, decimal digits only.
    package init(_ text: String) throws(X11Error) {
        var rest = text.utf8[...]
        guard let width = rest.takeNumber(), rest.take("x"),
            let height = rest.takeNumber(), rest.take("+"),
            let x = rest.takeNumber(), rest.take("+"),
            let y = rest.takeNumber(), rest.isEmpty,
            width > 0, height > 0
        else { throw .badRegion(text) }
        self.init(x: x, y: y, width: width, height: height)
    }
}

extension Substring.UTF8View {
    fileprivate mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard let next = first, next == UInt8(ascii: character) else { return false }
        removeFirst()
        return true
    }

    fileprivate mutating func takeNumber() -> Int? {
        var number: Int?
        while let digit = first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) {
            let value = (number ?? 0) * 10 + Int(digit - UInt8(ascii: "0"))
            guard value <= CaptureRegion.limit else { return nil }
            number = value
            removeFirst()
        }
        return number
    }
}
