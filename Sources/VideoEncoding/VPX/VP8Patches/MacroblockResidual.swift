import Pixels

/// The difference of a macroblock from its prediction, transformed and quantized.
final class MacroblockResidual {
    /// The quantizer index of RFC 6386 §14.1, fine enough for text at rest, and its steps.
    static let quantizerIndex = 3
    private static let lumaStep: Int32 = 7
    private static let firstMeanStep: Int32 = 14
    private static let meanStep: Int32 = 10
    private static let firstChromaStep: Int32 = 7
    private static let chromaStep: Int32 = 7

    /// The number of the block of means; 0 to 15 are luma, 16 to 19 U, 20 to 23 V.
    static let means = 24

    /// The planes of a picture to show.
    ///
    /// Invariant: the planes are as large as the layout says.
    struct Source {
        let luma: UnsafeRawPointer
        let chroma: UnsafeRawPointer
        let layout: NV12Layout

        /// The luma plane from a pixel on.
        func luma(_ x: Int, _ y: Int) -> UnsafePointer<UInt8> {
            (luma + y * layout.lumaStride + x).assumingMemoryBound(to: UInt8.self)
        }

        /// The chroma plane from the pair on that belongs to column `x`, which is even, in a row of chroma.
        func chroma(_ x: Int, _ row: Int) -> UnsafePointer<UInt8> {
            (chroma + row * layout.chromaStride + x).assumingMemoryBound(to: UInt8.self)
        }
    }

    /// 25 blocks of 16: differences, then coefficients as in decoders.
    private let blocks: UnsafeMutablePointer<Int32>
    private let predicted = PlaneMemory(columns: 1, rows: 1)
    /// The memory of `predicted`: 16x16 of luma, 8x8 of U, 8x8 of V.
    private let prediction: UnsafeMutablePointer<UInt8>
    /// The quantized coefficients of the same blocks, in the order of coding.
    private let levels: UnsafeMutablePointer<Int32>

    private let predictor: Prediction

    init(_ predictor: Prediction) {
        self.predictor = predictor
        blocks = .allocate(capacity: 25 * 16)
        blocks.initialize(repeating: 0, count: 25 * 16)
        levels = .allocate(capacity: 25 * 16)
        levels.initialize(repeating: 0, count: 25 * 16)
        prediction = predicted.planes.pointers.y
    }

    deinit {
        blocks.deallocate()
        levels.deallocate()
    }

    func levels(of block: Int) -> UnsafePointer<Int32> { UnsafePointer(levels + 16 * block) }

    /// Predicts a macroblock from another picture, `rows` further down.
    func predict(from planes: PatchEncoder.Planes, _ column: Int, _ row: Int, rows: Int) {
        predictor.predict(column..<column + 1, row, from: planes, rows: rows, into: predicted.planes)
    }

    /// The sum of absolute differences between the prediction and the source, in luma.
    func distance(to source: Source, _ column: Int, _ row: Int) -> Int {
        let (width, height) = inside(source, column, row)
        var sum: UInt32 = 0
        for y in 0..<height {
            let luma = source.luma(column * 16, row * 16 + y)
            let predicted = prediction + y * 16
            for x in 0..<width { sum += UInt32(abs(Int32(luma[x]) - Int32(predicted[x]))) }
        }
        return Int(sum)
    }

    /// Computes the quantized difference from the prediction. Returns whether any of it is not zero.
    func compute(_ source: Source, _ column: Int, _ row: Int) -> Bool {
        subtractLuma(source, column, row)
        subtractChroma(source, column, row)
        for block in 0..<24 { BlockTransform.forwardCosine(blocks + 16 * block) }
        let means = blocks + 16 * Self.means
        for block in 0..<16 { means[block] = blocks[16 * block] }
        BlockTransform.forwardWalsh(means)
        var isAny = quantize(Self.means, Self.firstMeanStep, Self.meanStep)
        for block in 0..<16 {
            blocks[16 * block] = 0
            isAny = quantize(block, Self.lumaStep, Self.lumaStep) || isAny
        }
        for block in 16..<24 { isAny = quantize(block, Self.firstChromaStep, Self.chromaStep) || isAny }
        return isAny
    }

    /// Adds the difference to the prediction, as decoders do (RFC 6386 §14.5).
    func add(into target: PatchEncoder.Planes, _ column: Int, _ row: Int) {
        let means = blocks + 16 * Self.means
        BlockTransform.inverseWalsh(means)
        for block in 0..<16 { blocks[16 * block] = means[block] }
        for block in 0..<24 { BlockTransform.inverseCosine(blocks + 16 * block) }
        let target = target.from(column, row)
        for block in 0..<16 {
            let (x, y) = (block % 4 * 4, block / 4 * 4)
            let start = y * target.strides.y + x
            add(block, to: y * 16 + x, 16, into: target.pointers.y + start, target.strides.y)
        }
        for block in 0..<4 {
            let (x, y) = (block % 2 * 4, block / 2 * 4)
            let start = y * target.strides.u + x
            let place = 256 + y * 8 + x
            add(16 + block, to: place, 8, into: target.pointers.u + start, target.strides.u)
            add(20 + block, to: place + 64, 8, into: target.pointers.v + start, target.strides.v)
        }
    }

    /// - Parameter place: of the block in the prediction.
    @inline(__always)
    private func add(
        _ block: Int,
        to place: Int,
        _ predictionStride: Int,
        into target: UnsafeMutablePointer<UInt8>,
        _ targetStride: Int
    ) {
        let (block, prediction) = (blocks + 16 * block, prediction + place)
        for y in 0..<4 {
            for x in 0..<4 {
                let sum = Int32(prediction[y * predictionStride + x]) + block[4 * y + x]
                target[y * targetStride + x] = UInt8(clamping: sum)
            }
        }
    }

    /// The part of a macroblock that is in the picture. Pixels beyond the edge have no difference.
    private func inside(_ source: Source, _ column: Int, _ row: Int) -> (width: Int, height: Int) {
        let size = source.layout.size
        return (min(16, size.width - column * 16), min(16, size.height - row * 16))
    }

    private func subtractLuma(_ source: Source, _ column: Int, _ row: Int) {
        let (width, height) = inside(source, column, row)
        if width < 16 || height < 16 { blocks.update(repeating: 0, count: 256) }
        for y in 0..<height {
            let luma = source.luma(column * 16, row * 16 + y)
            let predicted = prediction + y * 16
            let line = blocks + (y & 12) * 16 + (y & 3) * 4
            for x in 0..<width { line[(x & 12) * 4 + x & 3] = Int32(luma[x]) - Int32(predicted[x]) }
        }
    }

    private func subtractChroma(_ source: Source, _ column: Int, _ row: Int) {
        let (width, height) = inside(source, column, row)
        if width < 16 || height < 16 { (blocks + 256).update(repeating: 0, count: 128) }
        for y in 0..<height / 2 {
            let chroma = source.chroma(column * 16, row * 8 + y)
            let u = prediction + 256 + y * 8
            let v = u + 64
            let line = blocks + 256 + (y & 4) * 8 + (y & 3) * 4
            for x in 0..<width / 2 {
                let place = (x & 4) * 4 + x & 3
                line[place] = Int32(chroma[2 * x]) - Int32(u[x])
                line[place + 64] = Int32(chroma[2 * x + 1]) - Int32(v[x])
            }
        }
    }

    /// Returns whether any coefficient is left.
    private func quantize(_ block: Int, _ firstStep: Int32, _ step: Int32) -> Bool {
        let coefficients = blocks + 16 * block
        let levels = levels + 16 * block
        var any = quantize(coefficients, 0, levels, firstStep, 65536 / firstStep)
        let inverse = 65536 / step
        for position in 1..<16 {
            any |= quantize(coefficients + TokenWriter.zigzag[position], position, levels, step, inverse)
        }
        return any != 0
    }

    @inline(__always)
    private func quantize(
        _ coefficient: UnsafeMutablePointer<Int32>,
        _ position: Int,
        _ levels: UnsafeMutablePointer<Int32>,
        _ step: Int32,
        _ inverse: Int32
    ) -> Int32 {
        // Rounds down a little more often than up, which saves bits for a small loss.
        let magnitude = min(((abs(coefficient[0]) + (step * 7) >> 4) * inverse) >> 16, Int32(TokenWriter.mostLevel))
        let level = coefficient[0] < 0 ? -magnitude : magnitude
        levels[position] = level
        coefficient[0] = level * step
        return level
    }
}
