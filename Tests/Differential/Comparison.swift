import FrameBridge
import Glibc
import Pixels
import VideoEncoding

extension PlanarPicture {
    /// Peak signal-to-noise ratios of the planes in dB, 99 for no difference, and the largest mean square error of a
    /// macroblock's luma.
    struct Distance {
        let y: Double, u: Double, v: Double
        let worst: Double
    }

    /// How far it is from a picture of the same size.
    func distance(to other: borrowing NV12Picture) -> Distance {
        let (size, stride) = (size, other.layout.lumaStride)
        let columns = (size.width + 15) / 16
        var sums = [Int](repeating: 0, count: columns * ((size.height + 15) / 16))
        other.withPlanes { luma, _ in
            luma.withUnsafeBytes { luma in
                for row in 0..<size.height {
                    for x in 0..<size.width {
                        let difference = Int(y[row * size.width + x]) - Int(luma[row * stride + x])
                        sums[row / 16 * columns + x / 16] += difference * difference
                    }
                }
            }
        }
        return Distance(
            y: Self.decibels(sums.reduce(0, +), of: size.width * size.height),
            u: chromaDecibels(u, to: other, 0),
            v: chromaDecibels(v, to: other, 1),
            worst: Double(sums.max()!) / 256
        )
    }

    /// - Parameter offset: of the samples in the other picture's pairs.
    private func chromaDecibels(_ plane: [UInt8], to other: borrowing NV12Picture, _ offset: Int) -> Double {
        let (width, height, stride) = (size.width / 2, size.height / 2, other.layout.chromaStride)
        var sum = 0
        other.withPlanes { _, chroma in
            chroma.withUnsafeBytes { chroma in
                for row in 0..<height {
                    for x in 0..<width {
                        let difference = Int(plane[row * width + x]) - Int(chroma[row * stride + 2 * x + offset])
                        sum += difference * difference
                    }
                }
            }
        }
        return Self.decibels(sum, of: width * height)
    }

    private static func decibels(_ squares: Int, of samples: Int) -> Double {
        squares == 0 ? 99 : min(99, 10 * log10(255 * 255 * Double(samples) / Double(squares)))
    }

    /// The first place in which it differs from a picture of the same size, for people.
    func firstDifference(_ other: PlanarPicture) -> String {
        if size != other.size { return "the size, \(size) and not \(other.size)," }
        func place(_ plane: String, _ first: [UInt8], _ second: [UInt8], _ width: Int) -> String? {
            first.indices.first { first[$0] != second[$0] }.map { "\(plane)(\($0 % width), \($0 / width))" }
        }
        return place("Y", y, other.y, size.width) ?? place("U", u, other.u, size.width / 2)
            ?? place("V", v, other.v, size.width / 2) ?? "nowhere"
    }
}

extension NV12Picture {
    func isEqual(to other: borrowing NV12Picture) -> Bool {
        let layout = layout
        guard other.layout == layout else { return false }
        func areEqual(_ first: RawSpan, _ second: RawSpan, _ stride: Int, rows: Int) -> Bool {
            first.withUnsafeBytes { first in
                second.withUnsafeBytes { second in
                    (0..<rows).allSatisfy {
                        memcmp(first.baseAddress! + $0 * stride, second.baseAddress! + $0 * stride, layout.size.width)
                            == 0
                    }
                }
            }
        }
        return withPlanes { luma, chroma in
            other.withPlanes { otherLuma, otherChroma in
                areEqual(luma, otherLuma, layout.lumaStride, rows: layout.size.height)
                    && areEqual(chroma, otherChroma, layout.chromaStride, rows: layout.size.height / 2)
            }
        }
    }

    /// Copies parts of it into a frame of the same size.
    func copy(_ parts: [PixelRect], to planes: inout FramePlanes) {
        let (layout, stride) = (layout, planes.stride)
        func copy(_ part: PixelRect, _ source: RawSpan, _ sourceStride: Int, into target: inout MutableRawSpan) {
            source.withUnsafeBytes { source in
                target.withUnsafeMutableBytes { target in
                    for row in part.y..<part.y + part.height {
                        let line = source.baseAddress! + row * sourceStride + part.x
                        memcpy(target.baseAddress! + row * stride + part.x, line, part.width)
                    }
                }
            }
        }
        withPlanes { sourceLuma, sourceChroma in
            planes.withPlanes { luma, chroma in
                for part in parts {
                    let half = PixelRect(x: part.x, y: part.y / 2, width: part.width, height: part.height / 2)
                    copy(part, sourceLuma, layout.lumaStride, into: &luma)
                    copy(half, sourceChroma, layout.chromaStride, into: &chroma)
                }
            }
        }
    }
}
