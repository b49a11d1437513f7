internal import CPixels
internal import CYUV

/// Scales NV12 pictures of one size to another, as large as fits and in the middle; the rest is left as it is.
///
/// Smaller by area average, larger by bilinear interpolation. 1920x1080 to 1280x720, the commonest case, has kernels of
/// its own. There the average weighs three samples (2, 1) and (1, 2): a line one pixel wide keeps its weight wherever it
/// falls, 2/3 in one column or 1/3 in each of two. Bilinear, (3, 1) and (1, 3), would give the second kind of line only
/// two thirds the weight of the first: strokes of one letter would differ.
package struct Rescaler: Sendable {
    /// Of the pictures that come in.
    package let input: PixelSize
    /// Of the pictures that go out.
    package let output: PixelSize
    /// Where in the output the input appears; even. Outside of it nothing is ever written.
    package let target: PixelRect
    private let method: Method
    private let kernels: Kernels

    private enum Method {
        case copy
        case reduce3To2
        case halve
        case resample(luma: Resampler, chroma: Resampler)
    }

    /// - Parameters:
    ///   - input: Even, not empty.
    ///   - output: Even, not empty.
    package init(from input: PixelSize, to output: PixelSize, kernels: Kernels = .fastest) {
        precondition(input.isEven && !input.isEmpty)
        precondition(output.isEven && !output.isEmpty)
        self.input = input
        self.output = output
        self.kernels = kernels
        target = .letterbox(input, in: output)
        method = Self.method(from: input, to: target.size)
    }

    private static func method(from input: PixelSize, to target: PixelSize) -> Method {
        if input == target { return .copy }
        // Three chroma samples are six pixels.
        let wholeBlocks = input.width % 6 == 0 && input.height % 6 == 0
        let isReduction3To2 = input.width * 2 == target.width * 3 && input.height * 2 == target.height * 3
        if wholeBlocks && isReduction3To2 { return .reduce3To2 }
        let isReduction2To1 = input.width == target.width * 2 && input.height == target.height * 2
        if isReduction2To1 { return .halve }
        return .resample(
            luma: Resampler(from: input, to: target),
            chroma: Resampler(from: input.halved, to: target.halved)
        )
    }

    /// Writes the scaled input to `target`. The bars beside it stay black if the picture began so, as new ones do.
    ///
    /// - Parameters:
    ///   - luma: The luma plane of the input.
    ///   - chroma: Its chroma plane.
    ///   - layout: Of the input; its size is `input`.
    ///   - picture: Its size is `output`.
    package func rescale(luma: RawSpan, chroma: RawSpan, layout: NV12Layout, into picture: inout NV12Picture) {
        precondition(layout.size == input && picture.size == output, "planned for other sizes")
        layout.checkBounds(luma: luma.byteCount, chroma: chroma.byteCount)
        let outputLayout = picture.layout
        let lumaOffset = outputLayout.lumaOffset(x: target.x, y: target.y)
        let chromaOffset = outputLayout.chromaOffset(x: target.x, y: target.y)
        withRows(luma, stride: layout.lumaStride) { luma in
            withRows(chroma, stride: layout.chromaStride) { chroma in
                picture.withMutablePlanes { outputLuma, outputChroma in
                    withMutableRows(&outputLuma, offset: lumaOffset, stride: outputLayout.lumaStride) { outputLuma in
                        withMutableRows(&outputChroma, offset: chromaOffset, stride: outputLayout.chromaStride) {
                            rescale(luma: luma, chroma: chroma, toLuma: outputLuma, chroma: $0)
                        }
                    }
                }
            }
        }
    }

    private func rescale(luma: Rows, chroma: Rows, toLuma outputLuma: MutableRows, chroma outputChroma: MutableRows) {
        switch method {
        case .copy:
            Self.copy(luma, to: outputLuma, byteCount: input.width, rows: input.height)
            Self.copy(chroma, to: outputChroma, byteCount: input.width, rows: input.height / 2)
        case .reduce3To2:
            let table = kernels.table
            for row in 0..<input.height / 3 {
                table.reduce_luma_3_to_2(
                    luma[3 * row],
                    luma[3 * row + 1],
                    luma[3 * row + 2],
                    outputLuma[2 * row],
                    outputLuma[2 * row + 1],
                    input.width / 3
                )
            }
            for row in 0..<input.height / 6 {
                table.reduce_chroma_3_to_2(
                    chroma[3 * row],
                    chroma[3 * row + 1],
                    chroma[3 * row + 2],
                    outputChroma[2 * row],
                    outputChroma[2 * row + 1],
                    input.width / 6
                )
            }
        case .halve:
            // Here libyuv rounds the mean of four as it should; with other filters it is one or two levels low.
            let status = NV12Scale(
                luma.start,
                Int32(luma.stride),
                chroma.start,
                Int32(chroma.stride),
                Int32(input.width),
                Int32(input.height),
                outputLuma.start,
                Int32(outputLuma.stride),
                outputChroma.start,
                Int32(outputChroma.stride),
                Int32(target.width),
                Int32(target.height),
                kFilterBox
            )
            precondition(status == 0, "libyuv refuses empty pictures only")
        case .resample(let lumaResampler, let chromaResampler):
            lumaResampler.resample(.luma, luma, to: outputLuma)
            chromaResampler.resample(.chroma, chroma, to: outputChroma)
        }
    }

    private static func copy(_ source: Rows, to output: MutableRows, byteCount: Int, rows: Int) {
        for row in 0..<rows { output[row].update(from: source[row], count: byteCount) }
    }
}
