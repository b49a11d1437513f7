import Glibc

/// The planes of a picture of whole macroblocks, as VP8 decoders keep it.
final class PlaneMemory {
    let planes: PatchEncoder.Planes

    init(columns: Int, rows: Int) {
        let (width, height) = (columns * 16, rows * 16)
        let y = UnsafeMutablePointer<UInt8>.allocate(capacity: width * height * 3 / 2)
        y.initialize(repeating: 0, count: width * height * 3 / 2)
        let u = y + width * height
        planes = PatchEncoder.Planes(
            pointers: (y, u, u + width * height / 4),
            strides: (width, width / 2, width / 2)
        )
    }

    deinit { planes.pointers.y.deallocate() }

    /// Takes over macroblocks that stand side by side, from some rows further down.
    ///
    /// - Parameter height: of the picture, in rows of luma.
    func copy(_ columns: Range<Int>, _ row: Int, from source: PatchEncoder.Planes, rows: Int, height: Int) {
        Prediction.luma(
            source,
            columns,
            row,
            rows: rows,
            height: height,
            into: planes.pointers.y + row * 16 * planes.strides.y + columns.lowerBound * 16,
            planes.strides.y
        )
        let chroma = row * 8 * planes.strides.u + columns.lowerBound * 8
        Prediction.chroma(
            source.pointers.u,
            source.strides.u,
            columns,
            row,
            rows: rows,
            height: height / 2,
            into: planes.pointers.u + chroma,
            planes.strides.u
        )
        Prediction.chroma(
            source.pointers.v,
            source.strides.v,
            columns,
            row,
            rows: rows,
            height: height / 2,
            into: planes.pointers.v + chroma,
            planes.strides.v
        )
    }
}

/// What VP8 predicts macroblocks from that stand side by side: a picture some whole rows away (RFC 6386 §18). Rows beyond
/// the picture are like its last ones.
enum Prediction {
    static func luma(
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

    /// An odd number of rows of luma is a half of one of chroma: the mean of two, as bilinear interpolation has it.
    static func chroma(
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
        let whole = rows >> 1
        for y in 0..<8 {
            let top = line(row * 8 + y + whole)
            let target = target + y * targetStride
            if rows & 1 == 0 {
                memcpy(target, top, columns.count * 8)
            } else {
                let bottom = line(row * 8 + y + whole + 1)
                for x in 0..<columns.count * 8 { target[x] = UInt8((Int(top[x]) + Int(bottom[x]) + 1) >> 1) }
            }
        }
    }
}
