import Pixels
import TestSupport
import Testing

struct RescalerTests {
    /// Rescales random planes that lie in guarded buffers; returns the whole output with its padding.
    private func rescale(_ input: Planes, layout: NV12Layout, to output: PixelSize, kernels: Kernels = .fastest)
        -> Planes
    {
        var picture = NV12Picture(size: output)
        let luma = GuardedBytes(input.luma)
        let chroma = GuardedBytes(input.chroma)
        Rescaler(from: layout.size, to: output, kernels: kernels).rescale(
            luma: luma.bytes.bytes,
            chroma: chroma.bytes.bytes,
            layout: layout,
            into: &picture
        )
        return picture.withPlanes { Planes(luma: bytes($0), chroma: bytes($1)) }
    }

    private func bytes(_ span: RawSpan) -> [UInt8] { span.withUnsafeBytes { [UInt8]($0) } }

    private func random(_ layout: NV12Layout, seed: UInt64 = 32) -> Planes {
        var generator = SplitMix(seed: seed)
        return Planes(
            luma: generator.bytes(layout.lumaByteCount),
            chroma: generator.bytes(layout.chromaByteCount)
        )
    }

    @Test(arguments: Array(1...40) + [80, 107, 320])
    func vectorKernelsGiveTheBitsOfThePortableOnes(blocks: Int) {
        let size = PixelSize(width: 6 * blocks, height: 12)
        let layout = NV12Layout(size: size, lumaStride: size.width + blocks % 5, chromaStride: size.width + blocks % 3)
        let input = random(layout, seed: UInt64(blocks))
        let output = PixelSize(width: 4 * blocks, height: 8)
        #expect(
            rescale(input, layout: layout, to: output, kernels: .fastest)
                == rescale(input, layout: layout, to: output, kernels: .portable)
        )
    }

    @Test func reducesThreeToTwoByArea() {
        let layout = NV12Layout(size: PixelSize(width: 96, height: 18), lumaStride: 101, chromaStride: 99)
        let input = random(layout)
        let output = NV12Layout(size: PixelSize(width: 64, height: 12))
        let scaled = rescale(input, layout: layout, to: output.size)
        for y in 0..<12 {
            for x in 0..<64 {
                let exact = areaAverage(x, y) { Double(input.luma[layout.lumaOffset(x: $0, y: $1)]) }
                #expect(abs(Double(scaled.luma[output.lumaOffset(x: x, y: y)]) - exact) <= 0.5 + 1e-9)
            }
        }
        for y in 0..<6 {
            for x in 0..<32 {
                for component in 0..<2 {
                    let exact = areaAverage(x, y) {
                        Double(input.chroma[layout.chromaOffset(x: 2 * $0, y: 2 * $1) + component])
                    }
                    let actual = scaled.chroma[output.chromaOffset(x: 2 * x, y: 2 * y) + component]
                    #expect(abs(Double(actual) - exact) <= 0.5 + 1e-9)
                }
            }
        }
    }

    @Test(arguments: [(48, 36, 10, 8), (50, 20, 46, 18), (96, 64, 48, 32), (30, 90, 28, 84), (62, 62, 2, 2)])
    func reducesByArea(width: Int, height: Int, outputWidth: Int, outputHeight: Int) {
        let layout = NV12Layout(size: PixelSize(width: width, height: height), lumaStride: 103, chromaStride: 101)
        let input = random(layout)
        let output = NV12Layout(size: PixelSize(width: outputWidth, height: outputHeight))
        let rescaler = Rescaler(from: layout.size, to: output.size)
        let scaled = rescale(input, layout: layout, to: output.size)
        let scale = (
            Double(width) / Double(rescaler.target.width), Double(height) / Double(rescaler.target.height)
        )
        for y in 0..<rescaler.target.height {
            for x in 0..<rescaler.target.width {
                let exact = areaAverage(x, y, scale) { Double(input.luma[layout.lumaOffset(x: $0, y: $1)]) }
                let offset = output.lumaOffset(x: rescaler.target.x + x, y: rescaler.target.y + y)
                #expect(abs(Double(scaled.luma[offset]) - exact) <= (width == 2 * rescaler.target.width ? 0.5 : 2))
            }
        }
    }

    @Test func enlargesBilinearly() {
        let layout = NV12Layout(size: PixelSize(width: 4, height: 2))
        let input = Planes(
            luma: bytes([0, 40, 80, 120], rows: 2, of: layout.lumaStride),
            chroma: bytes([100, 10, 200, 50], rows: 1, of: layout.chromaStride)
        )
        let scaled = rescale(input, layout: layout, to: PixelSize(width: 8, height: 4))
        #expect(scaled.luma[..<8] == [0, 10, 30, 50, 70, 90, 110, 120])
        #expect(scaled.chroma[..<8] == [100, 10, 125, 20, 175, 40, 200, 50])
    }

    private func bytes(_ row: [UInt8], rows: Int, of stride: Int) -> [UInt8] {
        let padded = row + [UInt8](repeating: 255, count: stride - row.count)
        return (0..<rows).flatMap { _ in padded }
    }

    /// The mean over the rectangle, `scale` samples wide and high, that output sample (x, y) covers.
    private func areaAverage(
        _ x: Int,
        _ y: Int,
        _ scale: (Double, Double) = (1.5, 1.5),
        _ sample: (Int, Int) -> Double
    ) -> Double {
        func overlaps(_ index: Int, _ scale: Double) -> [(Int, Double)] {
            let start = scale * Double(index)
            let end = start + scale
            return (Int(start)...Int(end)).map { ($0, min(end, Double($0 + 1)) - max(start, Double($0))) }
                .filter { $0.1 > 1e-9 }
        }
        var sum = 0.0
        for (row, height) in overlaps(y, scale.1) {
            for (column, width) in overlaps(x, scale.0) { sum += sample(column, row) * width * height }
        }
        return sum / (scale.0 * scale.1)
    }

    @Test func copiesTheSameSize() {
        let layout = NV12Layout(size: PixelSize(width: 50, height: 10), lumaStride: 53, chromaStride: 51)
        let input = random(layout)
        let output = NV12Layout(size: layout.size)
        let copy = rescale(input, layout: layout, to: layout.size)
        for y in 0..<10 {
            for x in 0..<50 {
                #expect(copy.luma[output.lumaOffset(x: x, y: y)] == input.luma[layout.lumaOffset(x: x, y: y)])
                let odd = x % 2
                #expect(
                    copy.chroma[output.chromaOffset(x: x - odd, y: y) + odd]
                        == input.chroma[layout.chromaOffset(x: x - odd, y: y) + odd]
                )
            }
        }
    }

    @Test(arguments: [
        (1920, 1080), (1280, 720), (2560, 1440), (3840, 2160), (1366, 768), (640, 360), (720, 1280), (1022, 770),
        (2, 2),
        (4000, 6), (6, 4000), (1680, 1050),
    ])
    func keepsAConstantPictureConstantAndTheBarsBlack(width: Int, height: Int) {
        let size = PixelSize(width: width, height: height)
        var input = NV12Picture(size: size)
        input.fill(luma: 77, chroma: 200)
        let output = NV12Layout(size: PixelSize(width: 1280, height: 720))
        var picture = NV12Picture(size: output.size)
        let rescaler = Rescaler(from: size, to: output.size)
        let layout = input.layout
        input.withPlanes { rescaler.rescale(luma: $0, chroma: $1, layout: layout, into: &picture) }
        picture.withPlanes { luma, chroma in
            let luma = bytes(luma)
            let chroma = bytes(chroma)
            var wrong = 0
            for y in 0..<720 {
                for x in 0..<1280 {
                    let inside = rescaler.target.contains(PixelRect(x: x, y: y, width: 1, height: 1))
                    let odd = x % 2
                    if luma[output.lumaOffset(x: x, y: y)] != (inside ? 77 : 16) { wrong += 1 }
                    if chroma[output.chromaOffset(x: x - odd, y: y) + odd] != (inside ? 200 : 128) { wrong += 1 }
                }
            }
            #expect(wrong == 0)
        }
    }
}
