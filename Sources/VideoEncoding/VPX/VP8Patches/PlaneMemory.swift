import Glibc

/// The planes of a picture of whole macroblocks, as VP8 decoders keep it.
final class PlaneMemory {
    let planes: PatchEncoder.Planes
    private let prediction: Prediction

    init(columns: Int, rows: Int, _ prediction: Prediction) {
        self.prediction = prediction
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
        prediction.luma(
            source,
            columns,
            row,
            rows: rows,
            height: height,
            into: planes.pointers.y + row * 16 * planes.strides.y + columns.lowerBound * 16,
            planes.strides.y
        )
        let chroma = row * 8 * planes.strides.u + columns.lowerBound * 8
        prediction.chroma(
            source.pointers.u,
            source.strides.u,
            columns,
            row,
            rows: rows,
            height: height / 2,
            into: planes.pointers.u + chroma,
            planes.strides.u
        )
        prediction.chroma(
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
