import Glibc

/// A picture in memory of its own, 64-byte aligned: BT.601, limited range (luma 16...235, chroma 16...240).
package struct NV12Picture: ~Copyable, @unchecked Sendable {  // the memory has one owner
    package let layout: NV12Layout
    private let memory: UnsafeMutableRawBufferPointer
    private let chromaStart: Int

    /// A black picture.
    package init(size: PixelSize) {
        layout = NV12Layout(size: size)
        chromaStart = layout.lumaStride * size.height
        memory = .allocate(byteCount: chromaStart + layout.chromaStride * (size.height / 2), alignment: 64)
        fillBlack()
    }

    deinit { memory.deallocate() }

    package var size: PixelSize { layout.size }

    package func withPlanes<Result: ~Copyable, Failure: Error>(
        _ body: (_ luma: RawSpan, _ chroma: RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(RawSpan(_unsafeBytes: memory[..<chromaStart]), RawSpan(_unsafeBytes: memory[chromaStart...]))
    }

    package mutating func withMutablePlanes<Result: ~Copyable, Failure: Error>(
        _ body: (_ luma: inout MutableRawSpan, _ chroma: inout MutableRawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var luma = MutableRawSpan(_unsafeBytes: memory[..<chromaStart])
        var chroma = MutableRawSpan(_unsafeBytes: memory[chromaStart...])
        return try body(&luma, &chroma)
    }

    /// The planes, for C to read while the picture is borrowed.
    var planes: Planes {
        let start = memory.baseAddress!.assumingMemoryBound(to: UInt8.self)
        let chroma = Rows(start: start + chromaStart, stride: layout.chromaStride)
        return (Rows(start: start, stride: layout.lumaStride), chroma)
    }

    /// The planes, for C to write while the picture is borrowed.
    var mutablePlanes: MutablePlanes {
        mutating get {
            let start = memory.baseAddress!.assumingMemoryBound(to: UInt8.self)
            let chroma = MutableRows(start: start + chromaStart, stride: layout.chromaStride)
            return (MutableRows(start: start, stride: layout.lumaStride), chroma)
        }
    }

    package mutating func fillBlack() { fill(luma: 16, chroma: 128) }

    /// Sets every sample, and the padding, to one value; both chroma components to the same.
    package mutating func fill(luma: UInt8, chroma: UInt8) {
        UnsafeMutableRawBufferPointer(rebasing: memory[..<chromaStart])
            .initializeMemory(as: UInt8.self, repeating: luma)
        UnsafeMutableRawBufferPointer(rebasing: memory[chromaStart...])
            .initializeMemory(as: UInt8.self, repeating: chroma)
    }

    /// Copies rows of a picture of the same width.
    ///
    /// - Parameters:
    ///   - rows: even, within that picture.
    ///   - row: their new place; even, with all of them within this picture.
    package mutating func copy(rows: Range<Int>, of source: borrowing NV12Picture, to row: Int) {
        precondition(source.size.width == size.width && rows.lowerBound % 2 == 0 && rows.count % 2 == 0 && row % 2 == 0)
        precondition(rows.upperBound <= source.size.height && row + rows.count <= size.height, "beyond the picture")
        let (from, to) = (source.planes, mutablePlanes)
        to.luma[row].update(from: from.luma[rows.lowerBound], count: rows.count * layout.lumaStride)
        to.chroma[row / 2].update(from: from.chroma[rows.lowerBound / 2], count: rows.count / 2 * layout.chromaStride)
    }

    /// Copies a part of a picture of the same size.
    ///
    /// - Parameter region: even, within the picture.
    package mutating func copy(_ region: PixelRect, from source: borrowing NV12Picture) {
        precondition(source.layout == layout && region == region.expandedToEven, "of another size")
        precondition(PixelRect(size).contains(region), "beyond the picture")
        mutablePlanes.luma.copy(region, from: source.planes.luma)
        mutablePlanes.chroma.copy(region.chromaBytes, from: source.planes.chroma)
    }

    /// Copies blocks of a picture of the same size. Those at the right and lower edge are cut at the picture's edge.
    package mutating func copy(_ blocks: BlockSet, of source: borrowing NV12Picture) {
        precondition(blocks.size == size && blocks.side.isMultiple(of: 2), "of another size")
        blocks.forEachRectangle { columns, rows in copy(blocks.pixels(columns: columns, rows: rows), from: source) }
    }

    /// The peak signal-to-noise ratio of the luma of a picture of the same size, in dB; 99 if it is equal.
    package func lumaPSNR(of other: PlanarPicture) -> Double {
        precondition(other.size == size)
        let luma = planes.luma
        let squares = other.y.withUnsafeBufferPointer { other in
            var sum = 0
            for row in 0..<size.height {
                for x in 0..<size.width {
                    let difference = Int(luma[row][x]) - Int(other[row * size.width + x])
                    sum += difference * difference
                }
            }
            return sum
        }
        return squares == 0 ? 99 : 10 * log10(255 * 255 * Double(size.width * size.height) / Double(squares))
    }
}
