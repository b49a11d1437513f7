/// The tiles of a picture, 64x64 pixels each, that have changed.
package struct TileChange: Sendable, Equatable {
    /// Of the largest picture that a capture process makes.
    private static let mostColumns = 256
    package static let mostBytes = byteCount(mostColumns, mostColumns)

    package let columns: Int, rows: Int
    /// A bit for each tile, row by row, from the lowest of each byte on.
    package private(set) var bits: [UInt8]

    /// - Parameters:
    ///   - columns: 1 to 256.
    ///   - rows: 1 to 256.
    package init(columns: Int, rows: Int) {
        (self.columns, self.rows) = (columns, rows)
        bits = [UInt8](repeating: 0, count: Self.byteCount(columns, rows))
    }

    /// Nil for sizes that no picture has.
    package init?(columns: Int, rows: Int, bits: [UInt8]) {
        guard 1...Self.mostColumns ~= columns, 1...Self.mostColumns ~= rows,
            bits.count == Self.byteCount(columns, rows)
        else { return nil }
        (self.columns, self.rows, self.bits) = (columns, rows, bits)
    }

    private static func byteCount(_ columns: Int, _ rows: Int) -> Int { (columns * rows + 7) / 8 }

    package var isEmpty: Bool { bits.allSatisfy { $0 == 0 } }

    package subscript(column: Int, row: Int) -> Bool {
        get {
            let index = row * columns + column
            return bits[index / 8] >> (index % 8) & 1 == 1
        }
        set {
            let index = row * columns + column
            if newValue { bits[index / 8] |= 1 << (index % 8) } else { bits[index / 8] &= ~(1 << (index % 8)) }
        }
    }
}
