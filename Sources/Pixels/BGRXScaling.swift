internal import CYUV

/// Scales a BGRX image without keeping its shape, by libyuv: for previews, and as a judge of other ways to the same
/// picture. Filtered samples may come out one too dark.
///
/// - Parameters:
///   - source: Its first row first; no alignment needed.
///   - stride: Bytes from a row of the source to the next.
///   - size: Of the source, not empty.
///   - outputSize: Not empty; neither it nor `size` wider or higher than 32767.
/// - Returns: BGRX rows without padding.
package func rescaleBGRX(_ source: RawSpan, stride: Int, size: PixelSize, to outputSize: PixelSize) -> [UInt8] {
    precondition(!size.isEmpty && !outputSize.isEmpty)
    precondition(stride >= 4 * size.width && source.byteCount >= stride * (size.height - 1) + 4 * size.width)
    return [UInt8](unsafeUninitializedCapacity: 4 * outputSize.width * outputSize.height) { output, count in
        let status = withRows(source, stride: stride) { source in
            ARGBScale(
                source.start,
                Int32(source.stride),
                Int32(size.width),
                Int32(size.height),
                output.baseAddress!,
                Int32(4 * outputSize.width),
                Int32(outputSize.width),
                Int32(outputSize.height),
                kFilterBox
            )
        }
        precondition(status == 0, "libyuv refuses sizes beyond its range only")
        count = output.count
    }
}
