/// A set of square blocks of a picture, counted from its top left corner: tiles of 64 pixels to track changes,
/// macroblocks of 16 to encode them. Blocks at the right and lower edge may be smaller.
package struct BlockSet: Equatable, Sendable {
    /// The side of a tile in pixels.
    package static let tile = 64
    /// The side of a macroblock in pixels.
    package static let macroblock = 16

    package let size: PixelSize
    package let side: Int
    package let columns: Int
    package let rows: Int
    private let wordsPerRow: Int
    /// One bit a block, row by row. Each row begins a word, and bits beyond the last column are 0.
    private var words: [UInt64]

    package init(_ size: PixelSize, side: Int) {
        self.size = size
        self.side = side
        columns = (size.width + side - 1) / side
        rows = (size.height + side - 1) / side
        wordsPerRow = (columns + 63) / 64
        words = Array(repeating: 0, count: wordsPerRow * rows)
    }

    package var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

    package var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    package var isFull: Bool { count == columns * rows }

    package func contains(column: Int, row: Int) -> Bool {
        words[row * wordsPerRow + column / 64] >> UInt64(column % 64) & 1 != 0
    }

    package mutating func insert(column: Int, row: Int) {
        words[row * wordsPerRow + column / 64] |= 1 << UInt64(column % 64)
    }

    /// Adds adjacent blocks in each of some rows.
    package mutating func insert(columns: Range<Int>, rows: Range<Int>) {
        precondition(columns.upperBound <= self.columns && rows.upperBound <= self.rows, "blocks beyond the picture")
        if columns.isEmpty { return }
        for word in columns.lowerBound / 64...(columns.upperBound - 1) / 64 {
            let part = columns.clamped(to: word * 64..<word * 64 + 64)
            let bits = (UInt64.max >> UInt64(64 - part.count)) << UInt64(part.lowerBound % 64)
            for row in rows { words[row * wordsPerRow + word] |= bits }
        }
    }

    /// Adds every block with a pixel of the rectangle.
    package mutating func insert(_ rectangle: PixelRect) {
        guard let inside = rectangle.intersection(PixelRect(size)) else { return }
        insert(
            columns: inside.x / side..<(inside.x + inside.width - 1) / side + 1,
            rows: inside.y / side..<(inside.y + inside.height - 1) / side + 1
        )
    }

    /// Whether the set holds a block with a pixel of the rectangle.
    package func containsAny(of rectangle: PixelRect) -> Bool {
        guard let inside = rectangle.intersection(PixelRect(size)) else { return false }
        let columns = inside.x / side...(inside.x + inside.width - 1) / side
        let rows = inside.y / side...(inside.y + inside.height - 1) / side
        return rows.contains { row in columns.contains { contains(column: $0, row: row) } }
    }

    package mutating func insertAll() { insert(columns: 0..<columns, rows: 0..<rows) }

    package mutating func removeAll() {
        for index in words.indices { words[index] = 0 }
    }

    /// Adds the blocks of a set of the same picture.
    package mutating func formUnion(_ other: BlockSet) {
        combine(other) { $0 |= $1 }
    }

    /// Removes the blocks of a set of the same picture.
    package mutating func subtract(_ other: BlockSet) {
        combine(other) { $0 &= ~$1 }
    }

    /// Removes the blocks that are not in a set of the same picture.
    package mutating func formIntersection(_ other: BlockSet) {
        combine(other) { $0 &= $1 }
    }

    private mutating func combine(_ other: BlockSet, _ operation: (inout UInt64, UInt64) -> Void) {
        precondition(other.size == size && other.side == side, "of another picture")
        for index in words.indices { operation(&words[index], other.words[index]) }
    }

    /// The smallest rectangle around all blocks, in pixels; empty if there are none.
    package var bounds: PixelRect {
        var (first, end) = (rows, 0)
        var columns = self.columns..<self.columns
        for row in 0..<rows {
            let range = columnBounds(ofRow: row)
            if range.isEmpty { continue }
            first = min(first, row)
            end = row + 1
            let right = max(columns.isEmpty ? 0 : columns.upperBound, range.upperBound)
            columns = min(columns.lowerBound, range.lowerBound)..<right
        }
        return end == 0
            ? PixelRect(x: 0, y: 0, width: 0, height: 0) : pixels(columns: columns, rows: first..<end)
    }

    /// The smallest range of columns that holds all blocks of a row; empty if there are none.
    package func columnBounds(ofRow row: Int) -> Range<Int> {
        var first = columns
        var end = 0
        for word in 0..<wordsPerRow {
            let bits = words[row * wordsPerRow + word]
            if bits == 0 { continue }
            first = min(first, word * 64 + bits.trailingZeroBitCount)
            end = word * 64 + 64 - bits.leadingZeroBitCount
        }
        return first < end ? first..<end : 0..<0
    }

    /// Calls `body` with each run of adjacent blocks of a row, from left to right.
    package func forEachRun<Failure: Error>(
        inRow row: Int,
        _ body: (_ columns: Range<Int>) throws(Failure) -> Void
    ) throws(Failure) {
        var column = next(from: 0, inRow: row, inSet: true)
        while column < columns {
            let end = next(from: column, inRow: row, inSet: false)
            try body(column..<end)
            column = next(from: end, inRow: row, inSet: true)
        }
    }

    /// Calls `body` with each run of adjacent blocks, row by row.
    package func forEachRun(_ body: (_ columns: Range<Int>, _ row: Int) -> Void) {
        for row in 0..<rows { forEachRun(inRow: row) { body($0, row) } }
    }

    /// Calls `body` with disjoint rectangles of blocks that make up the set: few if rows are alike.
    package func forEachRectangle<Failure: Error>(
        _ body: (_ columns: Range<Int>, _ rows: Range<Int>) throws(Failure) -> Void
    ) throws(Failure) {
        var row = 0
        while row < rows {
            var end = row + 1
            while end < rows, rowsAreAlike(row, end) { end += 1 }
            try forEachRun(inRow: row) { (columns) throws(Failure) in try body(columns, row..<end) }
            row = end
        }
    }

    package func pixels(columns: Range<Int>, rows: Range<Int>) -> PixelRect {
        PixelRect(
            columns: columns.lowerBound * side..<min(columns.upperBound * side, size.width),
            rows: rows.lowerBound * side..<min(rows.upperBound * side, size.height)
        )
    }

    /// Writes 1 for each block of the set and 0 for each other, row by row.
    package func writeBytes(to bytes: inout [UInt8]) {
        precondition(bytes.count == columns * rows)
        for row in 0..<rows {
            for column in 0..<columns { bytes[row * columns + column] = contains(column: column, row: row) ? 1 : 0 }
        }
    }

    private func rowsAreAlike(_ first: Int, _ second: Int) -> Bool {
        (0..<wordsPerRow).allSatisfy { words[first * wordsPerRow + $0] == words[second * wordsPerRow + $0] }
    }

    /// The first column from `start` on that is in the set, or is not; `columns` if there is none.
    private func next(from start: Int, inRow row: Int, inSet: Bool) -> Int {
        var column = start
        while column < columns {
            let word = words[row * wordsPerRow + column / 64]
            let rest = (inSet ? word : ~word) >> UInt64(column % 64)
            if rest != 0 { return min(column + rest.trailingZeroBitCount, columns) }
            column = (column / 64 + 1) * 64
        }
        return columns
    }
}
