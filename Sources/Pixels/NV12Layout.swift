/// The memory layout of an NV12 picture: a plane of luma, and one of interleaved Cb and Cr at half the resolution both
/// ways.
package struct NV12Layout: Equatable, Hashable, Sendable {
    /// In pixels; even and not empty.
    package let size: PixelSize
    /// Bytes from a row of luma to the next; at least the width.
    package let lumaStride: Int
    /// Bytes from a row of chroma to the next; at least the width, as a row is width / 2 pairs.
    package let chromaStride: Int

    package init(size: PixelSize, lumaStride: Int, chromaStride: Int) {
        precondition(!size.isEmpty && size.isEven, "NV12 needs an even size")
        precondition(lumaStride >= size.width && chromaStride >= size.width, "rows overlap")
        self.size = size
        self.lumaStride = lumaStride
        self.chromaStride = chromaStride
    }

    /// Rows padded to whole cache lines.
    package init(size: PixelSize) {
        let stride = (size.width + 63) & ~63
        self.init(size: size, lumaStride: stride, chromaStride: stride)
    }

    /// From the first byte of the first row to the last byte of the last one. Padding after the last row need not
    /// exist.
    package var lumaByteCount: Int { lumaStride * (size.height - 1) + size.width }
    package var chromaByteCount: Int { chromaStride * (size.height / 2 - 1) + size.width }

    /// The offset of the pixel (x, y) in the luma plane.
    package func lumaOffset(x: Int, y: Int) -> Int { y * lumaStride + x }

    /// The offset in the chroma plane of the pair for the pixels (x, y) to (x + 1, y + 1). Both are even.
    package func chromaOffset(x: Int, y: Int) -> Int { y / 2 * chromaStride + x }

    func checkBounds(luma: Int, chroma: Int) {
        precondition(luma >= lumaByteCount && chroma >= chromaByteCount, "the planes are smaller than their layout")
    }
}
