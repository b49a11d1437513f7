package import Pixels

extension CursorShape {
    /// Blends the image onto an NV12 picture (BT.601, limited range), clipped at its edges.
    ///
    /// - Parameters:
    ///   - left: the picture's column under the left edge of the image; may be negative or beyond the picture.
    ///   - top: the same for rows.
    ///   - luma: at least `layout.size.height` rows of `layout.lumaStride` bytes.
    ///   - chroma: at least half as many rows of `layout.chromaStride` bytes.
    package func draw(
        left: Int,
        top: Int,
        luma: inout MutableRawSpan,
        chroma: inout MutableRawSpan,
        layout: NV12Layout
    ) {
        let columns = max(left, 0)..<max(0, left, min(left + width, layout.size.width))
        let rows = max(top, 0)..<max(0, top, min(top + height, layout.size.height))
        guard !columns.isEmpty, !rows.isEmpty else { return }
        for y in rows {
            for x in columns {
                blendLuma(pixel(x - left, y - top), at: y * layout.lumaStride + x, in: &luma)
            }
        }
        for y in rows.lowerBound / 2...(rows.upperBound - 1) / 2 {
            for x in columns.lowerBound / 2...(columns.upperBound - 1) / 2 {
                blendChroma(square(x * 2 - left, y * 2 - top), at: y * layout.chromaStride + x * 2, in: &chroma)
            }
        }
    }

    private func pixel(_ x: Int, _ y: Int) -> Colour {
        guard (0..<width).contains(x), (0..<height).contains(y) else { return .zero }
        let pixel = Int(pixels[y * width + x])
        return Colour(pixel >> 24, pixel >> 16 & 255, pixel >> 8 & 255, pixel & 255)
    }

    /// The sum of the four pixels that share a chroma sample; pixels beyond the image are transparent.
    private func square(_ x: Int, _ y: Int) -> Colour {
        pixel(x, y) &+ pixel(x + 1, y) &+ pixel(x, y + 1) &+ pixel(x + 1, y + 1)
    }

    private func blendLuma(_ colour: Colour, at offset: Int, in luma: inout MutableRawSpan) {
        guard colour.alpha > 0 else { return }
        let under = Int(luma.unsafeLoad(fromByteOffset: offset, as: UInt8.self)) << 16 * (255 - colour.alpha) / 255
        let over = (16 << 16) * colour.alpha / 255 + colour.luma
        luma.storeBytes(of: UInt8(clamping: (under + over + 1 << 15) >> 16), toByteOffset: offset, as: UInt8.self)
    }

    private func blendChroma(_ sum: Colour, at offset: Int, in chroma: inout MutableRawSpan) {
        guard sum.alpha > 0 else { return }
        for (index, value) in [sum.blueDifference, sum.redDifference].enumerated() {
            let at = offset + index
            let under = Int(chroma.unsafeLoad(fromByteOffset: at, as: UInt8.self)) << 16 * (4 * 255 - sum.alpha) / 255
            let over = (128 << 16) * sum.alpha / 255 + value
            chroma.storeBytes(
                of: UInt8(clamping: (under + over + 1 << 17) >> 18),
                toByteOffset: at,
                as: UInt8.self
            )
        }
    }
}

/// Premultiplied colours, or sums of them: alpha, red, green and blue.
private typealias Colour = SIMD4<Int>

/// Scaled by 65536, and without their offsets of 16 and 128.
extension Colour {
    fileprivate var luma: Int { 16_829 * self[1] + 33_039 * self[2] + 6_416 * self[3] }
    fileprivate var blueDifference: Int { -9_714 * self[1] - 19_071 * self[2] + 28_785 * self[3] }
    fileprivate var redDifference: Int { 28_784 * self[1] - 24_103 * self[2] - 4_681 * self[3] }
    fileprivate var alpha: Int { self[0] }
}
