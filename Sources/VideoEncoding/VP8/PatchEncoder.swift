import Pixels

/// Writes VP8 frames that change a few macroblocks of the picture and leave all others alone.
///
/// An encoder for whole pictures touches every macroblock of each frame, whether it changes or not, which costs more
/// than a millisecond. Such a frame here costs what its changes cost: each macroblock is predicted from the same place of
/// the picture before, and what is to be changed gets the difference.
///
/// The encoder whose pictures are patched never learns of it. A patch shows what it makes of the decoder's last frame, and
/// stores it as the alternate reference frame only, which that encoder does not use; later patches build upon that. The
/// last frame, the golden frame and all probabilities stay as they were (RFC 6386 §9.7, §9.11), so the encoder's next
/// frame follows its own last one. It has to encode anew what was patched in between.
struct PatchEncoder {
    /// The quantizer of patches, in libvpx's numbers from 0 to 63.
    static let quantizer = 5

    /// A picture as VP8 decoders keep it: planes of Y, U and V, complete macroblocks.
    ///
    /// Invariant: whoever makes one knows that the planes are as large as that.
    struct Planes {
        let pointers: (y: UnsafeMutablePointer<UInt8>, u: UnsafeMutablePointer<UInt8>, v: UnsafeMutablePointer<UInt8>)
        let strides: (y: Int, u: Int, v: Int)
    }

    /// Macroblocks that patches have changed since the last frame of the encoder.
    private(set) var patched: BlockSet
    private var tracker = ProbabilityTracker()
    /// Whether the probabilities are known.
    private var isFollowing = false
    /// Whether a patch was begun and given up.
    private var isSpoiled = false
    /// Whether the alternate reference frame holds the picture, and not the last frame.
    private var isOnAlternate = false
    /// The patched macroblocks as decoders have them; elsewhere nothing of use.
    var reconstruction: Planes { memory.planes }
    private let memory: PlaneMemory
    private let residual = MacroblockResidual()
    private var modes = BoolEncoder()
    private var tokens = TokenWriter()
    private var frame: [UInt8] = []
    /// Whether the blocks above have coefficients: for each column 4 of luma, 2 of U, 2 of V, and the means.
    private var above: [UInt8]
    private var left = [UInt8](repeating: 0, count: 9)

    init(_ size: PixelSize) {
        patched = BlockSet(size, side: BlockSet.macroblock)
        memory = PlaneMemory(columns: patched.columns, rows: patched.rows)
        above = Array(repeating: 0, count: patched.columns * 9)
    }

    /// Whether there is a frame to patch.
    var canPatch: Bool { isFollowing && !isSpoiled }

    /// The encoder has made a frame, which is the decoder's last one now.
    mutating func noteFrame(_ data: Span<UInt8>) {
        let isKeyframe = data.count > 0 && data[0] & 1 == 0
        // Once lost, the probabilities are known again after a keyframe.
        isFollowing = (isFollowing || isKeyframe) && tracker.note(data)
        isSpoiled = false
        isOnAlternate = false
        patched.removeAll()
    }

    /// Makes a frame that shows `picture` in some macroblocks, and all others as they are.
    ///
    /// - Parameters:
    ///   - blocks: macroblocks to change; with none the frame repeats the picture.
    ///   - base: the decoder's last frame, as the encoder has it.
    ///   - version: of the bitstream, as in the encoder's frames (RFC 6386 §9.1).
    ///   - limit: of the frame in bytes.
    ///   - body: gets the frame; the data is valid until it returns.
    /// - Returns: what `body` returns; nil when the frame would be larger, and then the next one must be the encoder's.
    mutating func encode<Result: ~Copyable>(
        _ picture: borrowing NV12Picture,
        _ blocks: BlockSet,
        base: Planes,
        version: UInt8,
        limit: Int,
        _ body: (Span<UInt8>) -> Result
    ) -> Result? {
        precondition(canPatch && picture.size == patched.size && blocks.size == patched.size)
        let isRepetition = blocks.isEmpty
        // That a macroblock has coefficients.
        let codedProbability = UInt8(clamping: max(1, blocks.count * 256 / (patched.columns * patched.rows)))
        beginFrame(refreshesAlternate: !isRepetition, codedProbability)
        for index in above.indices { above[index] = 0 }
        let layout = picture.layout
        let isWithinLimit = picture.withPlanes { luma, chroma -> Bool in
            let source = MacroblockResidual.Source(
                luma.withUnsafeBytes { $0.baseAddress! },
                chroma.withUnsafeBytes { $0.baseAddress! },
                layout
            )
            return writeMacroblocks(blocks, source, base, codedProbability, limit: limit)
        }
        guard isWithinLimit else {
            isSpoiled = true
            return nil
        }
        if !isRepetition { isOnAlternate = true }
        finishFrame(version: version)
        let frame = frame
        return body(frame.span)
    }

    /// Returns false when the coefficients take more than `limit` bytes.
    private mutating func writeMacroblocks(
        _ blocks: BlockSet,
        _ source: MacroblockResidual.Source,
        _ base: Planes,
        _ codedProbability: UInt8,
        limit: Int
    ) -> Bool {
        for row in 0..<patched.rows {
            for index in left.indices { left[index] = 0 }
            for column in 0..<patched.columns {
                let before = patched.contains(column: column, row: row) ? memory.planes : base
                let isCoded =
                    blocks.contains(column: column, row: row)
                    && residual.compute(source, minus: before, column: column, row: row)
                writeModes(isCoded: isCoded, codedProbability, column, row)
                if isCoded {
                    writeTokens(column)
                    residual.add(to: before, into: memory.planes, column: column, row: row)
                    patched.insert(column: column, row: row)
                } else {
                    for index in 0..<9 {
                        above[column * 9 + index] = 0
                        left[index] = 0
                    }
                }
            }
            if tokens.encoder.bytes.count > limit { return false }
        }
        return true
    }

    /// The frame header but for its first three bytes (RFC 6386 §9.3 to §9.11, §19.2).
    private mutating func beginFrame(refreshesAlternate: Bool, _ codedProbability: UInt8) {
        modes.removeAll()
        tokens.encoder.removeAll()
        modes.write(0, bits: 1)  // no segments
        modes.write(0, bits: 1 + 6 + 3)  // no loop filter
        modes.write(0, bits: 1)  // nor adjustments of it
        modes.write(0, bits: 2)  // one partition of coefficients
        modes.write(MacroblockResidual.quantizerIndex, bits: 7)
        modes.write(0, bits: 5)  // the same for all kinds of coefficients
        modes.write(0, bits: 1)  // the golden frame stays
        modes.write(refreshesAlternate ? 1 : 0, bits: 1)
        modes.write(0, bits: 2)
        if !refreshesAlternate { modes.write(0, bits: 2) }
        modes.write(0, bits: 2)  // sign biases
        modes.write(0, bits: 1)  // probabilities hold for this frame only
        modes.write(0, bits: 1)  // the last frame stays
        for index in 0..<CoefficientProbabilities.count {
            modes.write(false, CoefficientProbabilities.unchanged[index])
        }
        modes.write(1, bits: 1)  // macroblocks say whether they have coefficients
        modes.write(Int(codedProbability), bits: 8)
        modes.write(1, bits: 8)  // intra macroblocks: none
        modes.write(isOnAlternate ? 1 : 255, bits: 8)  // from the last frame
        modes.write(1, bits: 8)  // from the golden frame: none
        modes.write(0, bits: 2)  // intra probabilities stay
        for probability in Self.unchangedVectors { modes.write(false, probability) }
    }

    /// How probable it is that a frame leaves the probabilities of motion vectors (RFC 6386 §17.2).
    private static let unchangedVectors: [UInt8] = [
        237, 246, 253, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 250, 250, 252, 254, 254,
        231, 243, 245, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 251, 251, 254, 254, 254,
    ]

    /// An inter macroblock without motion (RFC 6386 §16).
    @inline(__always)
    private mutating func writeModes(isCoded: Bool, _ codedProbability: UInt8, _ column: Int, _ row: Int) {
        modes.write(!isCoded, codedProbability)
        modes.write(true, 1)
        if isOnAlternate {
            modes.write(true, 1)
            modes.write(true, 1)
        } else {
            modes.write(false, 255)
        }
        // By how many of the neighbours above and on the left do not move, either; at the edges some are missing.
        modes.write(false, column > 0 && row > 0 ? 234 : column > 0 || row > 0 ? 135 : 7)
    }

    private mutating func writeTokens(_ column: Int) {
        writeTokens(MacroblockResidual.means, .means, column * 9 + 8, 8)
        for block in 0..<16 { writeTokens(block, .lumaWithoutMean, column * 9 + block % 4, block / 4) }
        for block in 0..<8 {
            let plane = 4 + block / 4 * 2
            writeTokens(16 + block, .chroma, column * 9 + plane + block % 2, plane + block % 4 / 2)
        }
    }

    /// Those of one block, and whether there are any for its neighbours to know.
    private mutating func writeTokens(_ block: Int, _ kind: TokenWriter.Kind, _ top: Int, _ side: Int) {
        let context = Int(above[top] + left[side])
        let hasAny = tokens.write(residual.levels(of: block), kind, context: context, tracker.probabilities)
        above[top] = hasAny ? 1 : 0
        left[side] = hasAny ? 1 : 0
    }

    private mutating func finishFrame(version: UInt8) {
        modes.finish()
        tokens.encoder.finish()
        let size = modes.bytes.count
        frame.removeAll(keepingCapacity: true)
        // An inter frame that is shown, and the size of its first partition (RFC 6386 §9.1).
        let tag = 1 | Int(version) << 1 | 1 << 4 | size << 5
        for shift in [0, 8, 16] { frame.append(UInt8(truncatingIfNeeded: tag >> shift)) }
        frame += modes.bytes
        frame += tokens.encoder.bytes
    }
}

/// Planes of whole macroblocks.
private final class PlaneMemory {
    let planes: PatchEncoder.Planes

    init(columns: Int, rows: Int) {
        let (width, height) = (columns * 16, rows * 16)
        let y = UnsafeMutablePointer<UInt8>.allocate(capacity: width * height * 3 / 2)
        y.initialize(repeating: 0, count: width * height * 3 / 2)
        let u = y + width * height
        planes = PatchEncoder.Planes(
            pointers: (y, u, u + width * height / 4),
            strides: (width, width / 2, width / 2)
        )
    }

    deinit { planes.pointers.y.deallocate() }
}
