package import Pixels

extension PixelRect {
    /// The largest coordinate the X protocol can express.
    package static let limit = Int(Int16.max)

    /// As the X protocol has it.
    init(x: Int16, y: Int16, width: UInt16, height: UInt16) {
        self.init(x: Int(x), y: Int(y), width: Int(width), height: Int(height))
    }

    /// Parses a region in the notation of X geometries, as `description` writes it: `WIDTHxHEIGHT+X+Y`, width and height
    /// 1...32767, x and y 0...32767, decimal digits only.
    package init(geometry text: String) throws(X11Error) {
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
            guard value <= PixelRect.limit else { return nil }
            number = value
            removeFirst()
        }
        return number
    }
}
