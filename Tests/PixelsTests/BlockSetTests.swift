import TestSupport
import Testing

@testable import Pixels

/// Every operation beside the same on a set of coordinates.
struct BlockSetTests {
    private struct Block: Hashable {
        let column: Int, row: Int
    }

    private func blocks(_ set: BlockSet) -> Set<Block> {
        var blocks: Set<Block> = []
        for row in 0..<set.rows {
            for column in 0..<set.columns where set.contains(column: column, row: row) {
                blocks.insert(Block(column: column, row: row))
            }
        }
        return blocks
    }

    private static let sizes = [(1, 1), (64, 64), (65, 63), (1920, 1080), (4096, 70), (4097, 130), (16384, 65)]

    @Test(arguments: sizes, [BlockSet.tile, BlockSet.macroblock])
    func coversTheWholePicture(size: (Int, Int), side: Int) {
        var set = BlockSet(PixelSize(width: size.0, height: size.1), side: side)
        #expect(set.isEmpty && set.count == 0 && !set.isFull)
        #expect(set.columns * side >= size.0 && (set.columns - 1) * side < size.0)
        set.insertAll()
        #expect(set.isFull && set.count == set.columns * set.rows)
        #expect(blocks(set).count == set.count)
        var area = 0
        var rectangles = 0
        set.forEachRectangle { columns, rows in
            let pixels = set.pixels(columns: columns, rows: rows)
            area += pixels.width * pixels.height
            rectangles += 1
        }
        #expect(rectangles == 1 && area == size.0 * size.1)
        set.removeAll()
        #expect(set.isEmpty)
    }

    @Test(arguments: sizes)
    func rectanglesInsertTheBlocksTheyTouch(size: (Int, Int)) {
        var generator = SplitMix(seed: 7)
        let side = BlockSet.tile
        for _ in 0..<50 {
            let rectangle = PixelRect(
                x: .random(in: -100...size.0 + 50, using: &generator),
                y: .random(in: -100...size.1 + 50, using: &generator),
                width: .random(in: 0...200, using: &generator),
                height: .random(in: 0...200, using: &generator)
            )
            var set = BlockSet(PixelSize(width: size.0, height: size.1), side: side)
            set.insert(rectangle)
            for row in 0..<set.rows {
                for column in 0..<set.columns {
                    let block = set.pixels(columns: column..<column + 1, rows: row..<row + 1)
                    let isTouched = block.intersection(rectangle) != nil
                    #expect(set.contains(column: column, row: row) == isTouched)
                }
            }
        }
    }

    @Test func operationsAreThoseOfSets() {
        var generator = SplitMix(seed: 11)
        let size = PixelSize(width: 5000, height: 400)
        for density in [2, 10, 90, 98] {
            var sets = (0..<2).map { _ in BlockSet(size, side: BlockSet.tile) }
            for index in sets.indices {
                for row in 0..<sets[index].rows {
                    for column in 0..<sets[index].columns
                    where Int.random(in: 0..<100, using: &generator) < density {
                        sets[index].insert(column: column, row: row)
                    }
                }
            }
            let (first, second) = (blocks(sets[0]), blocks(sets[1]))
            #expect(sets[0].count == first.count)
            var union = sets[0]
            union.formUnion(sets[1])
            #expect(blocks(union) == first.union(second))
            var rest = sets[0]
            rest.subtract(sets[1])
            #expect(blocks(rest) == first.subtracting(second))
            check(sets[0])
        }
        // Rows alike, where rectangles are higher than a block.
        var bars = BlockSet(size, side: BlockSet.tile)
        bars.insert(columns: 3..<70, rows: 1..<6)
        bars.insert(columns: 75..<76, rows: 2..<4)
        check(bars)
    }

    private func check(_ set: BlockSet) {
        let all = blocks(set)
        var found: [Block] = []
        set.forEachRectangle { columns, rows in
            for row in rows { for column in columns { found.append(Block(column: column, row: row)) } }
        }
        #expect(found.count == all.count && Set(found) == all)
        for row in 0..<set.rows {
            let inRow = all.filter { $0.row == row }.map(\.column)
            let bounds = set.columnBounds(ofRow: row)
            #expect(bounds.isEmpty == inRow.isEmpty)
            if let first = inRow.min(), let last = inRow.max() { #expect(bounds == first..<last + 1) }
            var runs: [Range<Int>] = []
            set.forEachRun(inRow: row) { runs.append($0) }
            #expect(runs.flatMap { Array($0) } == inRow.sorted())
            #expect(zip(runs, runs.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
        }
        var bytes = [UInt8](repeating: 7, count: set.columns * set.rows)
        set.writeBytes(to: &bytes)
        for (index, byte) in bytes.enumerated() {
            #expect((byte == 1) == all.contains(Block(column: index % set.columns, row: index / set.columns)))
        }
    }

    /// Images that differ in some pixels, beside a search pixel by pixel.
    @Test(arguments: [1, 2, 3, 4], [(130, 70), (64, 64), (63, 1), (4500, 64)])
    func findsTheBlocksThatDiffer(bytesPerPixel: Int, size: (Int, Int)) {
        var generator = SplitMix(seed: 3)
        let size = PixelSize(width: size.0, height: size.1)
        let stride = size.width * bytesPerPixel + 5
        let first = generator.bytes(stride * size.height)
        for changes in [0, 1, 3, 40] {
            var second = first
            var wanted = BlockSet(size, side: BlockSet.tile)
            for _ in 0..<changes {
                let x = Int.random(in: 0..<size.width, using: &generator)
                let y = Int.random(in: 0..<size.height, using: &generator)
                second[y * stride + x * bytesPerPixel + .random(in: 0..<bytesPerPixel, using: &generator)] ^= 1
                wanted.insert(PixelRect(x: x, y: y, width: 1, height: 1))
            }
            // What is between the rows does not count.
            for y in 0..<size.height { second[y * stride + size.width * bytesPerPixel] ^= 255 }
            let (one, other) = (GuardedBytes(first), GuardedBytes(second))
            defer { withExtendedLifetime((one, other)) {} }
            let images = (one.bytes, other.bytes)
            var found = BlockSet(size, side: BlockSet.tile)
            for row in 0..<found.rows {
                let offset = row * BlockSet.tile * stride
                found.insertDifferences(
                    images.0.bytes.extracting(offset...),
                    stride: stride,
                    images.1.bytes.extracting(offset...),
                    stride: stride,
                    bytesPerPixel: bytesPerPixel,
                    columns: 0..<found.columns,
                    row: row
                )
            }
            #expect(found == wanted)
        }
    }

    @Test func updatesAPartOfAPictureAndTellsWhichMacroblocksChanged() {
        var generator = SplitMix(seed: 5)
        let size = PixelSize(width: 100, height: 54)
        for _ in 0..<60 {
            var picture = NV12Picture(size: size)
            var source = NV12Picture(size: size)
            // Few samples differ, and many macroblocks are alike.
            for _ in 0..<Int.random(in: 0..<20, using: &generator) {
                let offset = Int.random(in: 0..<50 * 128, using: &generator)
                source.withMutablePlanes { luma, chroma in
                    luma.storeBytes(of: 99, toByteOffset: offset, as: UInt8.self)
                    chroma.storeBytes(of: 99, toByteOffset: offset / 2, as: UInt8.self)
                }
            }
            let x = Int.random(in: 0..<50, using: &generator) * 2
            let y = Int.random(in: 0..<27, using: &generator) * 2
            let region = PixelRect(
                x: x,
                y: y,
                width: Int.random(in: 1...(100 - x) / 2, using: &generator) * 2,
                height: Int.random(in: 1...(54 - y) / 2, using: &generator) * 2
            )
            let (before, after) = (samples(picture), samples(source))
            var changed = BlockSet(size, side: BlockSet.macroblock)
            picture.update(region, from: source, changed: &changed)
            let updated = samples(picture)
            var wanted = BlockSet(size, side: BlockSet.macroblock)
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let isInside = region.contains(PixelRect(x: x, y: y, width: 1, height: 1))
                    let place = y * size.width + x
                    #expect(updated[place] == (isInside ? after : before)[place])
                    if isInside, after[place] != before[place] {
                        wanted.insert(PixelRect(x: x, y: y, width: 1, height: 1))
                    }
                }
            }
            #expect(changed == wanted)
        }
    }

    private struct Sample: Equatable { let luma: UInt8, cb: UInt8, cr: UInt8 }

    private func samples(_ picture: borrowing NV12Picture) -> [Sample] {
        let layout = picture.layout
        return picture.withPlanes { luma, chroma in
            func byte(_ span: RawSpan, _ offset: Int) -> UInt8 {
                span.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            }
            var samples: [Sample] = []
            for y in 0..<layout.size.height {
                for x in 0..<layout.size.width {
                    let pair = layout.chromaOffset(x: x & ~1, y: y & ~1)
                    samples.append(
                        Sample(
                            luma: byte(luma, layout.lumaOffset(x: x, y: y)),
                            cb: byte(chroma, pair),
                            cr: byte(chroma, pair + 1)
                        )
                    )
                }
            }
            return samples
        }
    }
}
