/// Rows of a plane, for C to read. Nothing is checked: whoever makes one has checked the bounds.
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
}

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
