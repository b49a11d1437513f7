/// How an NV12 picture lies in memory: a plane of luma, and one of Cb and Cr in turn at half the resolution both ways.
package struct NV12Layout: Equatable, Hashable, Sendable {
    /// In pixels; even and not empty.
    package let size: PixelSize
    /// Bytes from a row of luma to the next; at least the width.
    package let lumaStride: Int
    /// Bytes from a row of chroma to the next; at least the width, for a row is width / 2 pairs.
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

    /// From the first byte of the first row to the last byte of the last: padding after the last row need not exist.
    package var lumaByteCount: Int { lumaStride * (size.height - 1) + size.width }
    package var chromaByteCount: Int { chromaStride * (size.height / 2 - 1) + size.width }

    /// Where in the luma plane the pixel (x, y) stands.
    package func lumaOffset(x: Int, y: Int) -> Int { y * lumaStride + x }

    /// Where in the chroma plane the pair for the pixels (x, y) to (x + 1, y + 1) stands; both even.
    package func chromaOffset(x: Int, y: Int) -> Int { y / 2 * chromaStride + x }

    func checkBounds(luma: Int, chroma: Int) {
        precondition(luma >= lumaByteCount && chroma >= chromaByteCount, "the planes are smaller than their layout")
    }
}
