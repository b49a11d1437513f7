/// Rows of a plane, for C to read. Nothing is checked: the caller of the initializer has checked the bounds.
struct Rows {
    let start: UnsafePointer<UInt8>
    let stride: Int

    subscript(row: Int) -> UnsafePointer<UInt8> { start + row * stride }
}

/// Rows of a plane, for C to write.
struct MutableRows {
    let start: UnsafeMutablePointer<UInt8>
    let stride: Int

    subscript(row: Int) -> UnsafeMutablePointer<UInt8> { start + row * stride }

    /// Copies a part of another plane to the same place.
    ///
    /// - Parameter bytes: the part, in bytes across and in rows down.
    func copy(_ bytes: PixelRect, from source: Rows) {
        for row in bytes.y..<bytes.y + bytes.height {
            (self[row] + bytes.x).update(from: source[row] + bytes.x, count: bytes.width)
        }
    }
}

extension PixelRect {
    /// The place of an even rectangle in a plane of interleaved chroma, in bytes.
    var chromaBytes: PixelRect { PixelRect(x: x, y: y / 2, width: width, height: height / 2) }
}

/// The planes of an NV12 picture.
typealias Planes = (luma: Rows, chroma: Rows)
typealias MutablePlanes = (luma: MutableRows, chroma: MutableRows)

func withRows<Result>(_ span: RawSpan, stride: Int, _ body: (Rows) -> Result) -> Result {
    span.withUnsafeBytes {
        body(Rows(start: $0.baseAddress!.assumingMemoryBound(to: UInt8.self), stride: stride))
    }
}

/// `offset` is where the first row begins, in bytes.
func withMutableRows<Result>(
    _ span: inout MutableRawSpan,
    offset: Int,
    stride: Int,
    _ body: (MutableRows) -> Result
) -> Result {
    span.withUnsafeMutableBytes {
        body(MutableRows(start: $0.baseAddress!.assumingMemoryBound(to: UInt8.self) + offset, stride: stride))
    }
}
