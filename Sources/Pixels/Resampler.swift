internal import CPixels

/// Scales a plane by any ratio: rows are blended first, then samples along the blended row.
struct Resampler: Sendable {
    let horizontal: ResamplingFilter
    let vertical: ResamplingFilter
    private let source: PixelSize

    /// Sizes are in samples.
    init(from source: PixelSize, to destination: PixelSize) {
        self.source = source
        horizontal = ResamplingFilter(from: source.width, to: destination.width)
        vertical = ResamplingFilter(from: source.height, to: destination.height)
    }

    /// The part of the output that depends on a part of the input.
    func affected(by part: PixelRect) -> PixelRect {
        PixelRect(columns: horizontal.affected(by: part.columns), rows: vertical.affected(by: part.rows))
    }

    /// Computes a part of the output, which is not empty.
    ///
    /// - Parameters:
    ///   - rows: The whole input, with 1 byte a sample of luma or 2 of chroma.
    ///   - output: The whole output.
    func resample(_ rows: Rows, sampleBytes: Int, part: PixelRect, to output: MutableRows) {
        let columns = part.columns
        let support = horizontal.support(of: columns)
        let resample = sampleBytes == 1 ? pixels_resample_luma : pixels_resample_chroma
        withUnsafeTemporaryAllocation(of: UInt16.self, capacity: source.width * sampleBytes) { blended in
            let blended = blended.baseAddress!
            let start = support.lowerBound * sampleBytes
            for y in part.rows {
                vertical.weights.withUnsafeBufferPointer { weights in
                    pixels_blend_rows(
                        rows[Int(vertical.first[y])] + start,
                        rows.stride,
                        weights.baseAddress! + vertical.taps * y,
                        vertical.taps,
                        blended + start,
                        support.count * sampleBytes
                    )
                }
                horizontal.first.withUnsafeBufferPointer { first in
                    horizontal.weights.withUnsafeBufferPointer { weights in
                        resample(
                            blended,
                            first.baseAddress! + columns.lowerBound,
                            weights.baseAddress! + horizontal.taps * columns.lowerBound,
                            horizontal.taps,
                            output[y] + columns.lowerBound * sampleBytes,
                            columns.count
                        )
                    }
                }
            }
        }
    }
}
