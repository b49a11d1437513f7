import Pixels
import TestSupport
import Testing

struct NV12ConverterTests {
    @Test(arguments: Array(1...100) + [127, 128, 129, 641, 1366])
    func vectorKernelsGiveTheBitsOfThePortableOnes(width: Int) {
        var generator = SplitMix(seed: UInt64(width))
        for height in [1, 2, 3, 6] {
            // Odd strides put rows at every alignment.
            let stride = 4 * width + Int.random(in: 0...9, using: &generator)
            let source = generator.bytes(stride * (height - 1) + 4 * width)
            let size = PixelSize(width: width, height: height)
            let layout = NV12Layout(
                size: size.roundedUpToEven,
                lumaStride: width + 1 + stride % 7,
                chromaStride: width + 1 + stride % 5
            )
            let fast = convert(source, stride: stride, size: size, layout: layout, kernels: .fastest)
            let reference = convert(source, stride: stride, size: size, layout: layout, kernels: .portable)
            #expect(fast == reference)
            #expect(fast.isIntact)
            #expect(reference.isIntact)
        }
    }

    @Test(arguments: [(2, 2), (34, 6), (101, 7), (1, 1), (64, 3)])
    func followsTheDefinitionOfBT601(width: Int, height: Int) {
        var generator = SplitMix(seed: 601)
        let rowBytes = 4 * width
        let source = generator.bytes(rowBytes * height)
        let layout = NV12Layout(size: PixelSize(width: width, height: height).roundedUpToEven)
        let planes = convert(source, stride: rowBytes, size: PixelSize(width: width, height: height), layout: layout)

        func pixel(_ x: Int, _ y: Int) -> [Double] {
            let start = min(y, height - 1) * rowBytes + min(x, width - 1) * 4
            return source[start..<start + 3].reversed().map(Double.init)
        }
        for y in 0..<layout.size.height {
            for x in 0..<layout.size.width {
                let rgb = pixel(x, y)
                let luma = Double(planes.luma[layout.lumaOffset(x: x, y: y)])
                #expect(abs(luma - exactLuma(rgb[0], rgb[1], rgb[2])) <= 1)
            }
        }
        for y in stride(from: 0, to: layout.size.height, by: 2) {
            for x in stride(from: 0, to: layout.size.width, by: 2) {
                let four = [pixel(x, y), pixel(x + 1, y), pixel(x, y + 1), pixel(x + 1, y + 1)]
                let mean = (0..<3).map { channel in four.reduce(0) { $0 + $1[channel] } / 4 }
                let exact = exactChroma(mean[0], mean[1], mean[2])
                let offset = layout.chromaOffset(x: x, y: y)
                #expect(abs(Double(planes.chroma[offset]) - exact.cb) <= 1)
                #expect(abs(Double(planes.chroma[offset + 1]) - exact.cr) <= 1)
            }
        }
    }

    @Test(arguments: [Kernels.portable, .fastest])
    func greysHaveNoColour(kernels: Kernels) {
        for level in 0...255 {
            let source = [UInt8](repeating: UInt8(level), count: 4 * 34 * 2)
            let planes = convert(source, stride: 4 * 34, size: PixelSize(width: 34, height: 2), kernels: kernels)
            let exact = 16 + 219 * Double(level) / 255
            #expect(abs(Double(planes.luma[0]) - exact) < (level % 255 == 0 ? 0.01 : 0.7))
            #expect(planes.luma[33] == planes.luma[0])
            #expect(planes.chroma[..<34].allSatisfy { $0 == 128 })
        }
    }

    @Test func writesABlockIntoItsPlaceOnly() {
        var generator = SplitMix(seed: 3)
        let size = PixelSize(width: 96, height: 40)
        let layout = NV12Layout(size: size)
        let source = generator.bytes(4 * 96 * 40)
        let whole = convert(source, stride: 4 * 96, size: size, layout: layout)

        var luma = whole.luma
        var chroma = whole.chroma
        let area = PixelRect(x: 10, y: 6, width: 37, height: 9).expandedToEven
        for y in area.y..<area.y + area.height {
            for x in area.x..<area.x + area.width {
                luma[layout.lumaOffset(x: x, y: y)] = 1
                chroma[layout.chromaOffset(x: x & ~1, y: y) + x % 2] = 1
            }
        }
        var lumaElements = luma.mutableSpan
        var chromaElements = chroma.mutableSpan
        var lumaSpan = lumaElements.mutableBytes
        var chromaSpan = chromaElements.mutableBytes
        NV12Converter(from: .bgrx).convert(
            source.span.bytes.extracting(droppingFirst: 4 * (area.y * 96 + area.x)),
            stride: 4 * 96,
            size: area.size,
            luma: &lumaSpan,
            chroma: &chromaSpan,
            layout: layout,
            at: (area.x, area.y)
        )
        #expect(luma == whole.luma)
        #expect(chroma == whole.chroma)
    }
}
