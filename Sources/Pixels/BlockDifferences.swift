internal import CPixels

extension BlockSet {
    /// Adds the blocks of one row in which two images differ.
    ///
    /// - Parameters:
    ///   - first: The image of these blocks, from its first pixel on.
    ///   - firstStride: Bytes from a row to the next.
    ///   - second: The other image.
    ///   - secondStride: Bytes from a row to the next.
    ///   - bytesPerPixel: Of both.
    package mutating func insertDifferences(
        _ first: RawSpan,
        stride firstStride: Int,
        _ second: RawSpan,
        stride secondStride: Int,
        bytesPerPixel: Int,
        columns: Range<Int>,
        row: Int
    ) {
        let area = pixels(columns: columns, rows: row..<row + 1)
        let rowBytes = area.width * bytesPerPixel
        let blockBytes = side * bytesPerPixel
        precondition(first.byteCount >= firstStride * (area.height - 1) + rowBytes, "the first image is too short")
        precondition(second.byteCount >= secondStride * (area.height - 1) + rowBytes, "the second image is too short")
        insert(columns: columns, row: row) { bits in
            withRows(first, stride: firstStride) { first in
                withRows(second, stride: secondStride) { second in
                    pixels_find_differences(
                        first.start,
                        first.stride,
                        second.start,
                        second.stride,
                        rowBytes,
                        area.height,
                        blockBytes,
                        bits
                    )
                }
            }
        }
    }

    /// Lets `body` set the bits of the columns to add, the lowest bit being the first.
    fileprivate mutating func insert(columns: Range<Int>, row: Int, _ body: (UnsafeMutablePointer<UInt64>) -> Void) {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: (columns.count + 63) / 64) { bits in
            bits.initialize(repeating: 0)
            body(bits.baseAddress!)
            for word in bits.indices {
                var rest = bits[word]
                while rest != 0 {
                    insert(column: columns.lowerBound + word * 64 + rest.trailingZeroBitCount, row: row)
                    rest &= rest - 1
                }
            }
        }
    }
}

extension NV12Picture {
    /// Adds the macroblocks in which another picture of the same size is far from this one.
    ///
    /// - Parameters:
    ///   - luma: the largest difference of a sample of luma that is not far, of 255.
    ///   - chroma: that of a sample of chroma.
    package func findErrors(of other: PlanarPicture.Source, luma: UInt8, chroma: UInt8, in blocks: inout BlockSet) {
        precondition(blocks.size == size && blocks.side == BlockSet.macroblock, "of another size")
        let (planes, half) = (planes, BlockSet.macroblock / 2)
        for row in 0..<blocks.rows {
            let area = blocks.pixels(columns: 0..<blocks.columns, rows: row..<row + 1)
            blocks.insert(columns: 0..<blocks.columns, row: row) { bits in
                func find(_ ours: Rows, from: Int, step: Int, _ theirs: Rows, y: Int, _ most: UInt8) {
                    let (ours, theirs) = ((ours[y] + from, ours.stride), (theirs[y], theirs.stride))
                    let (width, height) = (area.width / step, area.height / step)
                    pixels_find_errors(ours.0, ours.1, step, theirs.0, theirs.1, width, height, most, bits)
                }
                find(planes.luma, from: 0, step: 1, Rows(start: other.y, stride: other.strides.y), y: area.y, luma)
                let u = Rows(start: other.u, stride: other.strides.u)
                let v = Rows(start: other.v, stride: other.strides.v)
                find(planes.chroma, from: 0, step: 2, u, y: row * half, chroma)
                find(planes.chroma, from: 1, step: 2, v, y: row * half, chroma)
            }
        }
    }

    /// Copies a part of another picture, and adds the macroblocks that differed.
    ///
    /// - Parameters:
    ///   - region: Even, within the picture.
    ///   - source: A picture of the same size.
    ///   - changed: Macroblocks of the picture.
    package mutating func update(_ region: PixelRect, from source: borrowing NV12Picture, changed: inout BlockSet) {
        let side = BlockSet.macroblock
        precondition(source.layout == layout && changed.size == size && changed.side == side, "of another size")
        precondition(region == region.expandedToEven && PixelRect(size).contains(region), "beyond the picture")
        let end = (x: region.x + region.width, y: region.y + region.height)
        var y = region.y
        while y < end.y {
            let nextY = min((y / side + 1) * side, end.y)
            var x = region.x
            while x < end.x {
                // Up to the first border between blocks, then all the rest at once.
                let nextX = x % side == 0 ? end.x : min((x / side + 1) * side, end.x)
                let part = PixelRect(x: x, y: y, width: nextX - x, height: nextY - y)
                changed.insert(columns: x / side..<(nextX - 1) / side + 1, row: y / side) { bits in
                    update(part, from: source, bits)
                }
                x = nextX
            }
            y = nextY
        }
    }

    private mutating func update(
        _ part: PixelRect,
        from source: borrowing NV12Picture,
        _ bits: UnsafeMutablePointer<UInt64>
    ) {
        func update(_ target: MutableRows, from source: Rows, y: Int, height: Int) {
            let (first, other) = (target[y] + part.x, source[y] + part.x)
            pixels_update_blocks(first, target.stride, other, source.stride, part.width, height, bits)
        }
        let (target, source) = (mutablePlanes, source.planes)
        update(target.luma, from: source.luma, y: part.y, height: part.height)
        update(target.chroma, from: source.chroma, y: part.y / 2, height: part.height / 2)
    }
}
