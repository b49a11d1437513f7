/// Reads the numbers that the workloads `counter` and `pattern` paint back from the luma of a picture of the screen:
/// 32 cells, highest bit first, white for 1, and below each its complement.
package struct NumberReader: Sendable {
    private static let bits = 32
    /// Cells that a picture is wide.
    package static let columns = 80
    private let width: Int
    private let cell: Int

    /// - Parameter width: of the picture, in pixels; its rows have no padding.
    package init(width: Int) {
        self.width = width
        cell = width / Self.columns
    }

    /// The height of a painted number.
    package var height: Int { 2 * cell }

    /// How far to the right the second number of each band of `pattern` stands.
    package var bandOffset: Int { 40 * cell }

    /// The number whose upper left corner is at a place. Nil where a cell is neither black nor white, or where its
    /// complement is not.
    package func value(in luma: [UInt8], x: Int = 0, y: Int = 0) -> Int? {
        var value = 0
        for bit in 0..<Self.bits {
            let left = x + bit * cell
            let (upper, lower) = (mean(of: luma, left, y), mean(of: luma, left, y + cell))
            guard min(upper, lower) < 90, max(upper, lower) > 165 else { return nil }
            value = value << 1 | (upper > lower ? 1 : 0)
        }
        return value
    }

    /// Of the middle of a cell; its edges are blurred by scaling.
    private func mean(of luma: [UInt8], _ left: Int, _ top: Int) -> Int {
        let (side, border) = (cell / 2, cell / 4)
        var sum = 0
        for y in top + border..<top + border + side {
            for x in left + border..<left + border + side { sum += Int(luma[y * width + x]) }
        }
        return sum / (side * side)
    }
}
