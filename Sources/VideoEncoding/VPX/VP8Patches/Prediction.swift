import Glibc

/// What VP8 predicts macroblocks from that stand side by side: a picture some whole rows away (RFC 6386 §18). Rows beyond
/// the picture are like its last ones.
struct Prediction {
    /// Whether half a row of chroma is interpolated from six rows, as version 0 of the bitstream has it, or from two.
    let isSixTap: Bool

    func luma(
        _ planes: PatchEncoder.Planes,
        _ columns: Range<Int>,
        _ row: Int,
        rows: Int,
        height: Int,
        into target: UnsafeMutablePointer<UInt8>,
        _ targetStride: Int
    ) {
        for y in 0..<16 {
            let line = min(max(row * 16 + y + rows, 0), height - 1)
            let source = planes.pointers.y + line * planes.strides.y + columns.lowerBound * 16
            memcpy(target + y * targetStride, source, columns.count * 16)
        }
    }

    /// An odd number of rows of luma is a half of one of chroma.
    func chroma(
        _ plane: UnsafeMutablePointer<UInt8>,
        _ stride: Int,
        _ columns: Range<Int>,
        _ row: Int,
        rows: Int,
        height: Int,
        into target: UnsafeMutablePointer<UInt8>,
        _ targetStride: Int
    ) {
        func line(_ number: Int) -> UnsafeMutablePointer<UInt8> {
            plane + min(max(number, 0), height - 1) * stride + columns.lowerBound * 8
        }
        // Downwards, so that what is left is half a row or none.
        let first = row * 8 + rows >> 1
        for y in first..<first + 8 {
            let target = target + (y - first) * targetStride
            if rows & 1 == 0 {
                memcpy(target, line(y), columns.count * 8)
            } else if isSixTap {
                let (a, b, c) = (line(y - 2), line(y - 1), line(y))
                let (d, e, f) = (line(y + 1), line(y + 2), line(y + 3))
                for x in 0..<columns.count * 8 {
                    let outer = 3 * (Int(a[x]) + Int(f[x])) - 16 * (Int(b[x]) + Int(e[x]))
                    target[x] = UInt8(clamping: (outer + 77 * (Int(c[x]) + Int(d[x])) + 64) >> 7)
                }
            } else {
                let (top, bottom) = (line(y), line(y + 1))
                for x in 0..<columns.count * 8 { target[x] = UInt8((Int(top[x]) + Int(bottom[x]) + 1) >> 1) }
            }
        }
    }
}
