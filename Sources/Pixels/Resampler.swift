internal import CPixels

/// Scales a plane by any ratio: rows are blended first, then samples along the blended row.
struct Resampler: Sendable {
    let horizontal: ResamplingFilter
    let vertical: ResamplingFilter
    private let source: PixelSize
    private let destination: PixelSize

    /// Sizes are in samples.
    init(from source: PixelSize, to destination: PixelSize) {
        self.source = source
        self.destination = destination
        horizontal = ResamplingFilter(from: source.width, to: destination.width)
        vertical = ResamplingFilter(from: source.height, to: destination.height)
    }

    enum Plane { case luma, chroma }

    func resample(_ plane: Plane, _ rows: Rows, to output: MutableRows) {
        let rowBytes = source.width * (plane == .luma ? 1 : 2)
        withUnsafeTemporaryAllocation(of: UInt16.self, capacity: rowBytes) { blended in
            let blended = blended.baseAddress!
            vertical.weights.withUnsafeBufferPointer { weights in
                for y in 0..<destination.height {
                    pixels_blend_rows(
                        rows[Int(vertical.first[y])],
                        rows.stride,
                        weights.baseAddress! + vertical.taps * y,
                        vertical.taps,
                        blended,
                        rowBytes
                    )
                    let resample = plane == .luma ? pixels_resample_luma : pixels_resample_chroma
                    resample(
                        blended,
                        horizontal.first,
                        horizontal.weights,
                        horizontal.taps,
                        output[y],
                        destination.width
                    )
                }
            }
        }
    }
}
