import Pixels

/// What a conversion wrote, and whether it kept to its bounds.
struct Planes: Equatable {
    var luma: [UInt8]
    var chroma: [UInt8]
    var isIntact = true
}

/// Converts `source` between guarded buffers.
func convert(
    _ source: [UInt8],
    stride: Int,
    size: PixelSize,
    from format: PixelFormat = .bgrx,
    layout: NV12Layout? = nil,
    kernels: Kernels = .fastest
) -> Planes {
    let layout = layout ?? NV12Layout(size: size.roundedUpToEven)
    let source = GuardedBytes(source)
    let luma = GuardedBytes(count: layout.lumaByteCount)
    let chroma = GuardedBytes(count: layout.chromaByteCount)
    var lumaSpan = luma.bytes.mutableBytes
    var chromaSpan = chroma.bytes.mutableBytes
    NV12Converter(from: format, kernels: kernels).convert(
        source.bytes.bytes,
        stride: stride,
        size: size,
        luma: &lumaSpan,
        chroma: &chromaSpan,
        layout: layout
    )
    return Planes(luma: luma.contents, chroma: chroma.contents, isIntact: luma.isIntact && chroma.isIntact)
}

/// BT.601, limited range, from the definition.
func exactLuma(_ r: Double, _ g: Double, _ b: Double) -> Double {
    16 + 219 * (0.299 * r + 0.587 * g + 0.114 * b) / 255
}

func exactChroma(_ r: Double, _ g: Double, _ b: Double) -> (cb: Double, cr: Double) {
    let luma = 0.299 * r + 0.587 * g + 0.114 * b
    return (128 + 224 * (b - luma) / 1.772 / 255, 128 + 224 * (r - luma) / 1.402 / 255)
}
