import Glibc

/// VP8's prediction of macroblocks from another picture, some whole rows further up or down (RFC 6386 §18). Rows beyond
/// the edge of that picture equal its outermost ones.
struct Prediction {
    /// Whether half a row of chroma is interpolated from six rows, as in version 0 of the bitstream, or from two.
    let isSixTap: Bool
    /// How many rows of macroblocks the picture has.
    let rowCount: Int

    /// Predicts macroblocks that stand side by side in a row.
    ///
    /// - Parameters:
    ///   - rows: how many rows of luma further down the source is; negative for further up.
    ///   - target: planes that begin with the first of these macroblocks.
    func predict(
        _ columns: Range<Int>,
        _ row: Int,
        from source: PatchEncoder.Planes,
        rows: Int,
        into target: PatchEncoder.Planes
    ) {
        typealias Plane = UnsafeMutablePointer<UInt8>
        func predictPlane(side: Int, halfRows: Int, _ source: Plane, _ stride: Int, _ target: Plane, _ newStride: Int) {
            func line(_ number: Int) -> Plane {
                source + min(max(number, 0), rowCount * side - 1) * stride + columns.lowerBound * side
            }
            let width = columns.count * side
            // Rounded down, so that the rest is half a row or none.
            let first = row * side + halfRows >> 1
            for y in first..<first + side {
                let target = target + (y - first) * newStride
                if halfRows & 1 == 0 {
                    memcpy(target, line(y), width)
                } else if isSixTap {
                    let (a, b, c) = (line(y - 2), line(y - 1), line(y))
                    let (d, e, f) = (line(y + 1), line(y + 2), line(y + 3))
                    for x in 0..<width {
                        let outer = 3 * (Int(a[x]) + Int(f[x])) - 16 * (Int(b[x]) + Int(e[x]))
                        target[x] = UInt8(clamping: (outer + 77 * (Int(c[x]) + Int(d[x])) + 64) >> 7)
                    }
                } else {
                    let (top, bottom) = (line(y), line(y + 1))
                    for x in 0..<width { target[x] = UInt8((Int(top[x]) + Int(bottom[x]) + 1) >> 1) }
                }
            }
        }
        let (old, oldStrides, new, newStrides) = (source.pointers, source.strides, target.pointers, target.strides)
        predictPlane(side: 16, halfRows: 2 * rows, old.y, oldStrides.y, new.y, newStrides.y)
        // A row of luma is half a row of chroma.
        predictPlane(side: 8, halfRows: rows, old.u, oldStrides.u, new.u, newStrides.u)
        predictPlane(side: 8, halfRows: rows, old.v, oldStrides.v, new.v, newStrides.v)
    }
}
