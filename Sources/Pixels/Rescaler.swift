internal import CPixels
internal import CYUV

/// Scales NV12 pictures of one size to another, as large as possible and centred. The rest is not written.
///
/// Smaller by area average, larger by bilinear interpolation. 1920x1080 to 1280x720, the commonest case, has kernels of
/// its own. There the average weighs three samples (2, 1) and (1, 2): a line one pixel wide keeps its weight at any
/// place, 2/3 in one column or 1/3 in each of two. Bilinear weights, (3, 1) and (1, 3), would give the second kind of
/// line only two thirds the weight of the first: strokes of one letter would differ.
package struct Rescaler: Sendable {
    package let input: PixelSize
    package let output: PixelSize
    /// The place of the input in the output; even. Outside of it nothing is ever written.
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

    /// The part of the output that shows a part of the input, including edges that mix with their neighbours.
    ///
    /// - Parameter part: Not empty, within the input.
    /// - Returns: A rectangle within `target`, even.
    package func outputRegion(of part: PixelRect) -> PixelRect {
        precondition(!part.isEmpty && PixelRect(input).contains(part), "beyond the input")
        let region: PixelRect
        switch method {
        case .copy: region = part.expandedToEven
        // Three chroma samples, which become two, are six pixels.
        case .reduce3To2: region = part.scaledOutwards(from: 6, to: 4)
        case .halve: region = part.scaledOutwards(from: 4, to: 2)
        case .resample(let luma, let chroma):
            let halved = part.scaledOutwards(from: 2, to: 1)
            let byChroma = chroma.affected(by: halved).scaledOutwards(from: 1, to: 2)
            region = luma.affected(by: part).union(byChroma).expandedToEven
        }
        return region.moved(x: target.x, y: target.y)
    }

    /// Writes the scaled input to a part of `target`. The bars beside it stay black if the picture began black, as new
    /// ones do. Any part is scaled as in the whole.
    ///
    /// - Parameters:
    ///   - luma: The luma plane of the input.
    ///   - chroma: Its chroma plane.
    ///   - layout: Of the input; its size is `input`.
    ///   - region: The result of `outputRegion(of:)`; all of `target` if nil.
    ///   - picture: Its size is `output`.
    package func rescale(
        luma: RawSpan,
        chroma: RawSpan,
        layout: NV12Layout,
        region: PixelRect? = nil,
        into picture: inout NV12Picture
    ) {
        precondition(layout.size == input && picture.size == output, "planned for other sizes")
        layout.checkBounds(luma: luma.byteCount, chroma: chroma.byteCount)
        let region = region ?? target
        precondition(!region.isEmpty && target.contains(region), "beyond the target")
        let part = region.moved(x: -target.x, y: -target.y)
        let (wholeLuma, wholeChroma) = picture.mutablePlanes
        let outputLuma = MutableRows(start: wholeLuma[target.y] + target.x, stride: wholeLuma.stride)
        let outputChroma = MutableRows(start: wholeChroma[target.y / 2] + target.x, stride: wholeChroma.stride)
        withRows(luma, stride: layout.lumaStride) { luma in
            withRows(chroma, stride: layout.chromaStride) { chroma in
                rescale(part, (luma, chroma), to: (outputLuma, outputChroma))
            }
        }
    }

    private func rescale(_ part: PixelRect, _ source: Planes, to output: MutablePlanes) {
        switch method {
        case .copy:
            output.luma.copy(part, from: source.luma)
            output.chroma.copy(part.chromaBytes, from: source.chroma)
        case .reduce3To2:
            precondition(part == part.scaledOutwards(from: 4, to: 4), "not a region of the output")
            reduce3To2(part, source, to: output)
        case .halve:
            Self.halve(part, source, to: output)
        case .resample(let luma, let chroma):
            let halved = part.scaledOutwards(from: 2, to: 1)
            luma.resample(source.luma, sampleBytes: 1, part: part, to: output.luma)
            chroma.resample(source.chroma, sampleBytes: 2, part: halved, to: output.chroma)
        }
    }

    private func reduce3To2(_ part: PixelRect, _ source: Planes, to output: MutablePlanes) {
        let (inX, outX, table) = (part.x / 2 * 3, part.x, kernels.table)
        for row in part.y / 2..<(part.y + part.height) / 2 {
            table.reduce_luma_3_to_2(
                source.luma[3 * row] + inX,
                source.luma[3 * row + 1] + inX,
                source.luma[3 * row + 2] + inX,
                output.luma[2 * row] + outX,
                output.luma[2 * row + 1] + outX,
                part.width / 2
            )
        }
        for row in part.y / 4..<(part.y + part.height) / 4 {
            table.reduce_chroma_3_to_2(
                source.chroma[3 * row] + inX,
                source.chroma[3 * row + 1] + inX,
                source.chroma[3 * row + 2] + inX,
                output.chroma[2 * row] + outX,
                output.chroma[2 * row + 1] + outX,
                part.width / 4
            )
        }
    }

    private static func halve(_ part: PixelRect, _ source: Planes, to output: MutablePlanes) {
        // Here libyuv rounds the mean of four correctly. With other filters it is one or two levels low.
        let status = NV12Scale(
            source.luma[2 * part.y] + 2 * part.x,
            Int32(source.luma.stride),
            source.chroma[part.y] + 2 * part.x,
            Int32(source.chroma.stride),
            Int32(2 * part.width),
            Int32(2 * part.height),
            output.luma[part.y] + part.x,
            Int32(output.luma.stride),
            output.chroma[part.y / 2] + part.x,
            Int32(output.chroma.stride),
            Int32(part.width),
            Int32(part.height),
            kFilterBox
        )
        precondition(status == 0, "libyuv refuses empty pictures only")
    }
}

extension PixelRect {
    /// The smallest rectangle around this one with edges at multiples of `from`, in a picture scaled by `to / from`.
    fileprivate func scaledOutwards(from: Int, to: Int) -> PixelRect {
        func scaled(_ range: Range<Int>) -> Range<Int> {
            range.lowerBound / from * to..<(range.upperBound + from - 1) / from * to
        }
        return PixelRect(columns: scaled(columns), rows: scaled(rows))
    }

    fileprivate func union(_ other: PixelRect) -> PixelRect {
        PixelRect(
            columns: min(x, other.x)..<max(columns.upperBound, other.columns.upperBound),
            rows: min(y, other.y)..<max(rows.upperBound, other.rows.upperBound)
        )
    }
}
