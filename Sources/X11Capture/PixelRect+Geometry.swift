package import Pixels

extension PixelRect {
    /// A rectangle in the form of the X protocol.
    init(x: Int16, y: Int16, width: UInt16, height: UInt16) {
        self.init(x: Int(x), y: Int(y), width: Int(width), height: Int(height))
    }

    /// Parses a region in the notation of X geometries, as in `description`: `WIDTHxHEIGHT+X+Y`, width and height
    /// 1...32767, x and y 0...32767, decimal digits only.
    package init(geometry text: String) throws(X11Error) {
        let parts = text.split(separator: "+", omittingEmptySubsequences: false)
        let sides = parts[0].split(separator: "x", omittingEmptySubsequences: false)
        let numbers = (sides + parts.dropFirst()).map { part in
            part.utf8.allSatisfy { 0x30...0x39 ~= $0 } ? Int(part) : nil
        }
        guard sides.count == 2, numbers.count == 4,
            let width = numbers[0], let height = numbers[1], let x = numbers[2], let y = numbers[3],
            1...Self.limit ~= width, 1...Self.limit ~= height, x <= Self.limit, y <= Self.limit
        else { throw .badRegion(text) }
        self.init(x: x, y: y, width: width, height: height)
    }

    /// The largest coordinate of the X protocol.
    private static let limit = Int(Int16.max)
}
