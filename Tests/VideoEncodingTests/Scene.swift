import Glibc
import Pixels

/// Pictures to encode.
enum Scene {
    /// Blocks of text-like contrast on a gradient, moved `step` by step.
    static func draw(_ step: Int, into picture: inout NV12Picture) {
        let layout = picture.layout
        picture.withMutablePlanes { luma, chroma in
            luma.withUnsafeMutableBytes { luma in
                for y in 0..<layout.size.height {
                    for x in 0..<layout.size.width {
                        let isInk = (x + 3 * step) / 5 % 3 == 0 && (y + 2 * step) / 9 % 2 == 0
                        luma[layout.lumaOffset(x: x, y: y)] = isInk ? 40 : UInt8(120 + (x + y) % 96)
                    }
                }
            }
            chroma.withUnsafeMutableBytes { chroma in
                for offset in 0..<layout.chromaByteCount { chroma[offset] = UInt8(118 + offset % 20) }
            }
        }
    }

    /// Noise that no encoder can predict, the same in each run.
    static func drawNoise(_ step: Int, into picture: inout NV12Picture) {
        picture.withMutablePlanes { luma, _ in
            luma.withUnsafeMutableBytes { luma in
                var state = UInt32(step &* 7919 &+ 1)
                for offset in 0..<luma.count {
                    state = state &* 1_664_525 &+ 1_013_904_223
                    luma[offset] = UInt8(state >> 24)
                }
            }
        }
    }
}

/// Peak signal-to-noise ratio of a picture's luma, in dB; 99 for no difference.
func peakSignalToNoiseRatio(_ picture: borrowing NV12Picture, _ decoded: [UInt8]) -> Double {
    let layout = picture.layout
    let squares = picture.withPlanes { luma, _ in
        luma.withUnsafeBytes { luma in
            var sum = 0
            for y in 0..<layout.size.height {
                for x in 0..<layout.size.width {
                    let difference =
                        Int(luma[layout.lumaOffset(x: x, y: y)]) - Int(decoded[y * layout.size.width + x])
                    sum += difference * difference
                }
            }
            return sum
        }
    }
    if squares == 0 { return 99 }
    let mean = Double(squares) / Double(layout.size.width * layout.size.height)
    return min(99, 10 * log10(255 * 255 / mean))
}
