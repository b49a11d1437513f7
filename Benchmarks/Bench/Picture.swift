import Glibc
import Pixels

/// A picture that an array or a closure can hold.
final class Picture {
    private(set) var nv12: NV12Picture

    init(size: PixelSize) { nv12 = NV12Picture(size: size) }

    /// Converts rows of BGRX without padding, of the picture's size.
    func convert(_ source: [UInt8], by converter: NV12Converter = NV12Converter(from: .bgrx)) {
        let layout = nv12.layout
        nv12.withMutablePlanes { luma, chroma in
            converter.convert(
                source.span.bytes,
                stride: layout.size.width * 4,
                size: layout.size,
                luma: &luma,
                chroma: &chroma,
                layout: layout
            )
        }
    }

    func rescale(_ source: Picture, by rescaler: Rescaler) {
        let layout = source.nv12.layout
        source.nv12.withPlanes { luma, chroma in
            rescaler.rescale(luma: luma, chroma: chroma, layout: layout, into: &nv12)
        }
    }

    /// Copies the luma of a picture of the same size, without padding.
    func takeLuma(_ other: [UInt8]) {
        let layout = nv12.layout
        nv12.withMutablePlanes { luma, _ in
            luma.withUnsafeMutableBytes { luma in
                for row in 0..<layout.size.height {
                    for x in 0..<layout.size.width {
                        luma[layout.lumaOffset(x: x, y: row)] = other[row * layout.size.width + x]
                    }
                }
            }
        }
    }

    /// Copies an I420 picture of the same size, without padding.
    func take(_ other: [UInt8]) {
        takeLuma(other)
        let layout = nv12.layout
        let (width, height) = (layout.size.width / 2, layout.size.height / 2)
        let u = layout.size.width * layout.size.height
        nv12.withMutablePlanes { _, chroma in
            for row in 0..<height {
                for x in 0..<width {
                    let offset = layout.chromaOffset(x: 2 * x, y: 2 * row)
                    let place = u + row * width + x
                    chroma.storeBytes(of: other[place], toByteOffset: offset, as: UInt8.self)
                    chroma.storeBytes(of: other[place + width * height], toByteOffset: offset + 1, as: UInt8.self)
                }
            }
        }
    }

    /// Peak signal-to-noise ratios against an I420 picture of the same size without padding, in dB: of Y, U and V.
    func planePSNR(of other: [UInt8]) -> [Double] {
        let layout = nv12.layout
        let (width, height) = (layout.size.width / 2, layout.size.height / 2)
        let chroma = [0, 1].map { plane in
            let start = 4 * width * height + plane * width * height
            let squares = nv12.withPlanes { _, chroma in
                var sum = 0
                for row in 0..<height {
                    for x in 0..<width {
                        let offset = layout.chromaOffset(x: 2 * x, y: 2 * row) + plane
                        let sample = chroma.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
                        let difference = Int(sample) - Int(other[start + row * width + x])
                        sum += difference * difference
                    }
                }
                return sum
            }
            return squares == 0 ? 99 : 10 * log10(255 * 255 * Double(width * height) / Double(squares))
        }
        return [lumaPSNR(of: other)] + chroma
    }

    /// Peak signal-to-noise ratio of the luma against a plane of the same size without padding, in dB.
    func lumaPSNR(of other: [UInt8]) -> Double { lumaPSNR(of: other, rowStep: 1) }

    /// The same over every fourth row; `other` holds only those.
    func lumaPSNR(ofEveryFourthRow other: [UInt8]) -> Double { lumaPSNR(of: other, rowStep: 4) }

    private func lumaPSNR(of other: [UInt8], rowStep: Int) -> Double {
        let layout = nv12.layout
        let size = layout.size
        let rows = size.height / rowStep
        precondition(other.count >= size.width * rows)
        let squares = nv12.withPlanes { luma, _ in
            luma.withUnsafeBytes { luma in
                var sum = 0
                for row in 0..<rows {
                    for x in 0..<size.width {
                        let difference =
                            Int(luma[layout.lumaOffset(x: x, y: row * rowStep)]) - Int(other[row * size.width + x])
                        sum += difference * difference
                    }
                }
                return sum
            }
        }
        if squares == 0 { return 99 }
        return 10 * log10(255 * 255 * Double(size.width * rows) / Double(squares))
    }
}

extension Stage {
    /// The screen, at the size of the stream.
    func wantedPicture() throws -> Picture {
        let source = Picture(size: Self.size)
        try grab(count: 1) { source.convert($0) }
        let wanted = Picture(size: EncoderSettings.size)
        wanted.rescale(source, by: Rescaler(from: Self.size, to: EncoderSettings.size))
        return wanted
    }
}
