import Pixels

/// Reads the number that the workload `counter` paints back from the luma of a picture of the screen: 32 cells, highest
/// bit first, white for 1, and below each its complement.
struct CounterReader {
    private static let bits = 32
    private let width: Int
    private let cell: Int

    init(size: PixelSize) {
        width = size.width
        cell = size.width / 80
    }

    /// Nil where a cell is neither black nor white, or where its complement is not.
    func value(in luma: [UInt8]) -> Int? {
        var value = 0
        for bit in 0..<Self.bits {
            let (upper, lower) = (mean(of: luma, column: bit, row: 0), mean(of: luma, column: bit, row: 1))
            guard min(upper, lower) < 90, max(upper, lower) > 165 else { return nil }
            value = value << 1 | (upper > lower ? 1 : 0)
        }
        return value
    }

    /// Of the middle of a cell; its edges are blurred by scaling.
    private func mean(of luma: [UInt8], column: Int, row: Int) -> Int {
        let side = cell / 2
        var sum = 0
        for y in row * cell + cell / 4..<row * cell + cell / 4 + side {
            for x in column * cell + cell / 4..<column * cell + cell / 4 + side { sum += Int(luma[y * width + x]) }
        }
        return sum / (side * side)
    }
}
