internal import CPixels

/// Converts packed RGB of any format to NV12: BT.601, limited range. A chroma sample is the mean of four pixels.
///
/// BGRX goes straight through the kernels. Every other format is first expanded to BGRX, two rows at a time. NV12 has
/// even sizes only. If the source is odd, its last column or row is repeated: cutting it off would lose content, and a
/// black edge would bleed into the last chroma sample.
package struct NV12Converter: Sendable {
    package let format: PixelFormat
    private let kernels: Kernels
    private let packed: pixels_packed_format

    package init(from format: PixelFormat, kernels: Kernels = .fastest) {
        self.format = format
        self.kernels = kernels
        packed = format.packed
    }

    /// Converts a block of pixels into a place in a picture.
    ///
    /// - Parameters:
    ///   - source: The block, from its first byte on. It need not be aligned.
    ///   - stride: Bytes from a row of the source to the next.
    ///   - size: Of the block; either side may be odd.
    ///   - luma: The luma plane of the whole picture.
    ///   - chroma: Its chroma plane.
    ///   - layout: Of the whole picture.
    ///   - place: The block's place in the picture; even. The block, rounded up to an even size, must lie in the picture.
    package func convert(
        _ source: RawSpan,
        stride: Int,
        size: PixelSize,
        luma: inout MutableRawSpan,
        chroma: inout MutableRawSpan,
        layout: NV12Layout,
        at place: (x: Int, y: Int) = (0, 0)
    ) {
        if size.isEmpty { return }
        precondition(stride >= size.width * format.bytesPerPixel, "rows of the source overlap")
        precondition(
            source.byteCount >= stride * (size.height - 1) + size.width * format.bytesPerPixel,
            "the source is too short"
        )
        let even = size.roundedUpToEven
        precondition(place.x % 2 == 0 && place.y % 2 == 0, "an odd place would split chroma samples")
        precondition(
            PixelRect(layout.size).contains(PixelRect(even).moved(x: place.x, y: place.y)),
            "the block does not fit the picture"
        )
        layout.checkBounds(luma: luma.byteCount, chroma: chroma.byteCount)

        let lumaOffset = layout.lumaOffset(x: place.x, y: place.y)
        let chromaOffset = layout.chromaOffset(x: place.x, y: place.y)
        withRows(source, stride: stride) { source in
            withMutableRows(&luma, offset: lumaOffset, stride: layout.lumaStride) { luma in
                withMutableRows(&chroma, offset: chromaOffset, stride: layout.chromaStride) { chroma in
                    convert(source, size: size, luma: luma, chroma: chroma)
                }
            }
        }
    }

    private func convert(_ source: Rows, size: PixelSize, luma: MutableRows, chroma: MutableRows) {
        withExpander(width: size.width) { expand in
            for y in stride(from: 0, to: size.height, by: 2) {
                let top = expand(source[y], 0)
                let bottom = y + 1 < size.height ? expand(source[y + 1], 1) : top
                kernels.table.bgrx_to_nv12(top, bottom, luma[y], luma[y + 1], chroma[y / 2], size.width)
            }
        }
    }

    /// Calls `body` with a function that expands a row of the source to BGRX. Its memory holds two rows in turn.
    private func withExpander(
        width: Int,
        _ body: (_ expand: (UnsafePointer<UInt8>, _ slot: Int) -> UnsafePointer<UInt8>) -> Void
    ) {
        if format.isBGRX { return body { row, _ in row } }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 2 * 4 * width) { rows in
            withUnsafePointer(to: packed) { packed in
                body { row, slot in
                    let expanded = rows.baseAddress! + slot * 4 * width
                    pixels_expand_to_bgrx(row, expanded, width, packed)
                    return UnsafePointer(expanded)
                }
            }
        }
    }
}
