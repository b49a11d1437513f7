internal import CPixels

/// The picture as bytes R, G, B, row after row without padding: from BT.601, limited range, for image files.
///
/// - Parameters:
///   - luma: The luma plane.
///   - chroma: The chroma plane.
///   - layout: Of both.
package func rgbBytes(luma: RawSpan, chroma: RawSpan, layout: NV12Layout) -> [UInt8] {
    layout.checkBounds(luma: luma.byteCount, chroma: chroma.byteCount)
    let size = layout.size
    return [UInt8](unsafeUninitializedCapacity: 3 * size.width * size.height) { rgb, count in
        withRows(luma, stride: layout.lumaStride) { luma in
            withRows(chroma, stride: layout.chromaStride) { chroma in
                for y in 0..<size.height {
                    pixels_nv12_to_rgb(luma[y], chroma[y / 2], rgb.baseAddress! + 3 * size.width * y, size.width)
                }
            }
        }
        count = rgb.count
    }
}
