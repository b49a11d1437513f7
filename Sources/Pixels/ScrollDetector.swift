internal import CPixels

/// Detects by how many rows a part of a picture has moved up or down.
package struct ScrollDetector: Sendable {
    /// The least number of matching rows. Fewer may match by chance.
    private static let leastRows = 12

    /// For each hash, the row of the old picture that has it; -1 if several rows do.
    private var places: [UInt64: Int] = [:]
    private var votes: [Int] = []

    package init() {}

    /// How many rows further down the content of the new picture was in the old one; nil if no motion explains a good
    /// part of it.
    ///
    /// - Parameters:
    ///   - region: of both pictures, which have the same size.
    ///   - range: the distances to search.
    package mutating func rows(
        from old: borrowing NV12Picture,
        to new: borrowing NV12Picture,
        in region: PixelRect,
        within range: ClosedRange<Int>
    ) -> Int? {
        precondition(old.layout == new.layout && PixelRect(new.size).contains(region), "beyond the pictures")
        let height = region.height
        guard height >= 2 * Self.leastRows else { return nil }
        places.removeAll(keepingCapacity: true)
        votes.removeAll(keepingCapacity: true)
        votes.append(contentsOf: repeatElement(0, count: 2 * height))
        Self.forEachHash(old, region) { row, hash in
            // Equal rows cannot be told apart.
            places[hash] = places[hash] == nil ? row : -1
        }
        Self.forEachHash(new, region) { row, hash in
            if let place = places[hash], place >= 0, range ~= place - row { votes[place - row + height] += 1 }
        }
        votes[height] = 0
        guard let most = votes.max(), most >= max(Self.leastRows, height / 8) else { return nil }
        return votes.firstIndex(of: most)! - height
    }

    private static func forEachHash(
        _ picture: borrowing NV12Picture,
        _ region: PixelRect,
        _ body: (Int, UInt64) -> Void
    ) {
        let luma = picture.planes.luma
        for row in 0..<region.height { body(row, pixels_hash_row(luma[region.y + row] + region.x, region.width)) }
    }
}

extension NV12Picture {
    /// Finds the macroblocks of a region that equal another picture some rows further down: exactly in luma, and nearly
    /// in chroma.
    ///
    /// - Parameters:
    ///   - region: of the picture. Pixels outside of it are not used.
    ///   - old: of the same size.
    ///   - rows: negative for further up. With an odd number, two rows of chroma must match.
    ///   - moved: set to all of these macroblocks.
    ///   - tinted: set to those of them whose chroma differs.
    package func findBlocksMoved(
        in region: PixelRect,
        from old: borrowing NV12Picture,
        rows: Int,
        _ moved: inout BlockSet,
        tinted: inout BlockSet
    ) {
        precondition(old.layout == layout && PixelRect(size).contains(region), "beyond the pictures")
        let side = BlockSet.macroblock
        precondition(moved.size == size && moved.side == side && tinted.size == size && tinted.side == side)
        moved.removeAll()
        tinted.removeAll()
        let end = (x: (region.x + region.width) / side, y: (region.y + region.height) / side)
        let lines = region.y..<region.y + region.height
        for row in (region.y + side - 1) / side..<max((region.y + side - 1) / side, end.y) {
            let first = row * side + rows
            guard lines.contains(first), lines.contains(first + side - 1 + rows & 1) else { continue }
            for column in (region.x + side - 1) / side..<max((region.x + side - 1) / side, end.x) {
                guard let difference = difference(column, row, from: old, rows: rows), difference <= Self.mostTint
                else { continue }
                moved.insert(column: column, row: row)
                if difference > 0 { tinted.insert(column: column, row: row) }
            }
        }
    }

    /// The largest difference of chroma that people overlook in a moving picture.
    private static var mostTint: Int { 24 }

    /// The largest difference of chroma between a macroblock and the old picture some rows further down; nil if luma
    /// differs.
    private func difference(_ column: Int, _ row: Int, from old: borrowing NV12Picture, rows: Int) -> Int? {
        let (x, y) = (column * BlockSet.macroblock, row * BlockSet.macroblock)
        let (new, old) = (planes, old.planes)
        let difference = pixels_compare_macroblocks(
            new.luma[y] + x,
            old.luma[y + rows] + x,
            layout.lumaStride,
            new.chroma[y / 2] + x,
            old.chroma[y / 2 + rows >> 1] + x,
            layout.chromaStride,
            1 + Int32(rows & 1)
        )
        return difference < 0 ? nil : Int(difference)
    }
}
