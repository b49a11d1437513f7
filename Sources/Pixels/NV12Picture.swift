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

    /// Gives every sample, padding too, one value; both chroma components the same.
    package mutating func fill(luma: UInt8, chroma: UInt8) {
        UnsafeMutableRawBufferPointer(rebasing: memory[..<chromaStart])
            .initializeMemory(as: UInt8.self, repeating: luma)
        UnsafeMutableRawBufferPointer(rebasing: memory[chromaStart...])
            .initializeMemory(as: UInt8.self, repeating: chroma)
    }
}
