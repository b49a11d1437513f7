/// One frame as a reader sees it, valid only inside the closure that got it.
///
/// In mapped mode the planes are the writer's own memory. A writer that laps a slow reader overwrites them. The reader
/// finds out after the closure, and reports `contended`. So keep nothing of a frame before `read` has returned `frame`.
public struct Frame: ~Copyable {
    /// The start of the slot.
    let base: UnsafeRawPointer
    /// Checked against the slot's size.
    let metadata: SlotMetadata

    /// The metadata of the frame.
    public var info: FrameInfo { metadata.info }
    /// Bytes from row to row of the luma plane, at least `info.width`.
    public var lumaStride: Int { metadata.lumaStride }
    /// Bytes from row to row of the chroma plane, at least `info.width`.
    public var chromaStride: Int { metadata.chromaStride }

    /// The luma plane: `lumaStride * height` bytes.
    public var luma: RawSpan {
        @_lifetime(borrow self)
        get { span(at: metadata.lumaOffset, count: lumaStride * info.height) }
    }

    /// The chroma plane, Cb and Cr interleaved: `chromaStride * height / 2` bytes.
    public var chroma: RawSpan {
        @_lifetime(borrow self)
        get { span(at: metadata.chromaOffset, count: chromaStride * info.height / 2) }
    }

    /// For each 64x64 tile, row by row, the low 32 bits of the number of the frame in which it last changed. A reader
    /// that has seen frame `n` of the same generation needs the tiles whose version is later than `n`, however many frames
    /// it skipped.
    public var tileVersions: Span<UInt32> {
        @_lifetime(borrow self)
        get { map(at: metadata.tilesOffset) }
    }

    /// The same, for changes that are not the pointer's. They are those of `tileVersions` for a writer that does not tell.
    public var contentVersions: Span<UInt32> {
        @_lifetime(borrow self)
        get { map(at: metadata.contentOffset) }
    }

    @_lifetime(borrow self)
    private func map(at offset: Int) -> Span<UInt32> {
        let tiles = (base + offset).assumingMemoryBound(to: UInt32.self)
        return _overrideLifetime(
            Span(_unsafeStart: tiles, count: metadata.tileColumns * metadata.tileRows),
            borrowing: self
        )
    }

    /// Tiles in a row.
    public var tileColumns: Int { metadata.tileColumns }
    /// Tiles in a column.
    public var tileRows: Int { metadata.tileRows }

    /// Calls `body` with each run of adjacent tiles in a row that changed after an earlier frame, however many frames
    /// came in between. If that frame had another size or generation, or is nil, the runs are whole rows.
    ///
    /// - Parameter countsPointer: whether tiles count that differ by the pointer alone.
    public func forEachChange(
        after seen: FrameInfo?,
        countsPointer: Bool = true,
        _ body: (_ columns: Range<Int>, _ row: Int) -> Void
    ) {
        guard let seen, seen.generation == info.generation, (seen.width, seen.height) == (info.width, info.height)
        else {
            for row in 0..<tileRows { body(0..<tileColumns, row) }
            return
        }
        let versions = countsPointer ? tileVersions : contentVersions
        func hasChanged(_ column: Int, _ row: Int) -> Bool {
            // The numbers may have passed 2^32 in between.
            let distance = versions[row * tileColumns + column] &- UInt32(truncatingIfNeeded: seen.number)
            return Int32(bitPattern: distance) > 0
        }
        for row in 0..<tileRows {
            var column = 0
            while column < tileColumns {
                let start = column
                while column < tileColumns, hasChanged(column, row) { column += 1 }
                if column > start { body(start..<column, row) }
                column += 1
            }
        }
    }

    @_lifetime(borrow self)
    private func span(at offset: Int, count: Int) -> RawSpan {
        _overrideLifetime(RawSpan(_unsafeStart: base + offset, byteCount: count), borrowing: self)
    }
}
