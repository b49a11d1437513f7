import Pixels

/// Writes VP8 frames that change or move a few macroblocks of the picture and leave all others unchanged.
///
/// An encoder of whole pictures touches every macroblock of each frame, which costs more than a millisecond. The cost
/// of a frame here depends on its changes alone: each macroblock is predicted from the same place of the picture
/// before, and changed ones get the difference.
///
/// The encoder of the patched pictures never learns of it. A patch builds on the decoder's last frame, and is stored as
/// the golden frame only, which that encoder does not use. Later patches build on the golden frame. The last frame and
/// all probabilities stay unchanged (RFC 6386 §9.7, §9.11), so the encoder's next frame follows its own last one. It
/// must encode the patched macroblocks anew.
///
/// To a decoder it is a stream of two temporal layers, as libwebrtc sends them of screens. The lower one uses and
/// refreshes the last frame only. The upper one uses both and refreshes the golden frame, or nothing.
struct PatchEncoder {
    /// The quantizer of patches, in libvpx's numbers from 0 to 63.
    static let quantizer = 3

    /// A picture as VP8 decoders keep it: planes of Y, U and V, complete macroblocks.
    ///
    /// Invariant: the planes have that size. The caller of the initializer ensures it.
    struct Planes {
        let pointers: (y: UnsafeMutablePointer<UInt8>, u: UnsafeMutablePointer<UInt8>, v: UnsafeMutablePointer<UInt8>)
        let strides: (y: Int, u: Int, v: Int)

        var source: PlanarPicture.Source {
            PlanarPicture.Source(pointers.y, pointers.u, pointers.v, strides: strides)
        }

        /// The same planes, beginning at a macroblock.
        func from(_ column: Int, _ row: Int) -> Planes {
            let y = pointers.y + 16 * (row * strides.y + column)
            let u = pointers.u + 8 * (row * strides.u + column)
            let v = pointers.v + 8 * (row * strides.v + column)
            return Planes(pointers: (y, u, v), strides: strides)
        }
    }

    /// Macroblocks that patches have changed since the last frame of the encoder.
    private(set) var patched: BlockSet
    /// Macroblocks whose reconstruction is that of decoders. All others equal the encoder's last frame.
    private var held: BlockSet
    private var tracker = ProbabilityTracker()
    /// Whether the probabilities are known.
    private var isFollowing = false
    /// Whether a patch was begun and given up.
    private var isSpoiled = false
    /// Whether the golden frame holds the picture, and not the last frame.
    private var isOnGolden = false
    /// The decoders' picture in held macroblocks; undefined elsewhere.
    private(set) var reconstruction: PlaneMemory
    /// Memory for the next picture while parts of the present one are still needed.
    private var spare: PlaneMemory
    private let version: Int
    private let prediction: Prediction
    private let residual: MacroblockResidual
    private var modes = BoolEncoder()
    private var tokens = TokenWriter()
    private var frame: [UInt8] = []
    /// Whether the blocks above have coefficients: for each column 4 of luma, 2 of U, 2 of V, and the means.
    private var above: [UInt8]
    private var left = [UInt8](repeating: 0, count: 9)
    private var vectors: VectorField

    /// - Parameter version: of the bitstream, as in the encoder's frames (RFC 6386 §9.1): 0 or 1.
    init(_ size: PixelSize, version: Int) {
        precondition(0...1 ~= version, "another version of VP8")
        self.version = version
        patched = BlockSet(size, side: BlockSet.macroblock)
        held = patched
        prediction = Prediction(isSixTap: version == 0, rowCount: patched.rows)
        residual = MacroblockResidual(prediction)
        reconstruction = PlaneMemory(columns: patched.columns, rows: patched.rows)
        spare = PlaneMemory(columns: patched.columns, rows: patched.rows)
        above = Array(repeating: 0, count: patched.columns * 9)
        vectors = VectorField(columns: patched.columns, rows: patched.rows)
    }

    var canPatch: Bool { isFollowing && !isSpoiled }

    /// Records a frame of the encoder, which is now the decoder's last one.
    mutating func noteFrame(_ data: Span<UInt8>) {
        let isKeyframe = data.count > 0 && data[0] & 1 == 0
        // After a loss, the probabilities are known again with the next keyframe.
        isFollowing = (isFollowing || isKeyframe) && tracker.note(data)
        isSpoiled = false
        isOnGolden = false
        patched.removeAll()
        held.removeAll()
    }

    /// Makes a frame that shows `picture` in some macroblocks and leaves all others unchanged.
    ///
    /// - Parameters:
    ///   - blocks: macroblocks to change. With none, the frame repeats the picture.
    ///   - scroll: macroblocks to move. Those that are also in `blocks` then get the difference. Other ones of `blocks`
    ///     may be predicted with the same motion.
    ///   - base: the decoder's last frame, from the encoder.
    ///   - limit: the largest size of the frame, in bytes.
    ///   - body: gets the frame; the data is valid until it returns.
    /// - Returns: the result of `body`; nil if VP8 cannot code the scroll, or the frame would be larger. Then the
    ///   encoder must make the next frame.
    mutating func encode<Result: ~Copyable>(
        _ picture: borrowing NV12Picture,
        _ blocks: BlockSet,
        scroll: Scroll? = nil,
        base: Planes,
        limit: Int,
        _ body: (Span<UInt8>) -> Result
    ) -> Result? {
        precondition(canPatch && picture.size == patched.size && blocks.size == patched.size)
        if let scroll, !(Scroll.range ~= scroll.rows) { return nil }
        let isRepetition = blocks.isEmpty && scroll == nil
        // The probability that a macroblock has coefficients.
        let codedProbability = UInt8(clamping: max(1, blocks.count * 256 / (patched.columns * patched.rows)))
        beginFrame(refreshesGolden: !isRepetition, codedProbability)
        for index in above.indices { above[index] = 0 }
        let layout = picture.layout
        let isWithinLimit = picture.withPlanes { luma, chroma -> Bool in
            let source = MacroblockResidual.Source(
                luma: luma.withUnsafeBytes { $0.baseAddress! },
                chroma: chroma.withUnsafeBytes { $0.baseAddress! },
                layout: layout
            )
            if let scroll {
                hold(base)
                return writeMoved(blocks, scroll, source, codedProbability, limit: limit)
            }
            return writeInPlace(blocks, source, base, codedProbability, limit: limit)
        }
        guard isWithinLimit, let size = finishFrame(), size <= limit else {
            isSpoiled = true
            return nil
        }
        if !isRepetition { isOnGolden = true }
        let frame = frame
        return body(frame.span)
    }

    /// Writes all macroblocks without motion. Returns false if the coefficients take more than `limit` bytes.
    private mutating func writeInPlace(
        _ blocks: BlockSet,
        _ source: MacroblockResidual.Source,
        _ base: Planes,
        _ codedProbability: UInt8,
        limit: Int
    ) -> Bool {
        for row in 0..<patched.rows {
            for index in left.indices { left[index] = 0 }
            for column in 0..<patched.columns {
                var isCoded = false
                if blocks.contains(column: column, row: row) {
                    let before = held.contains(column: column, row: row) ? reconstruction.planes : base
                    residual.predict(from: before, column, row, rows: 0)
                    isCoded = residual.compute(source, column, row)
                }
                writeHead(isCoded: isCoded, codedProbability)
                // The probability of "no motion" depends on the number of neighbours. None of them moves.
                modes.write(false, column > 0 && row > 0 ? 234 : column > 0 || row > 0 ? 135 : 7)
                writeRest(isCoded: isCoded, into: reconstruction, column, row)
            }
            if tokens.encoder.bytes.count > limit { return false }
        }
        return true
    }

    /// Writes all macroblocks, some with motion. Returns false if the coefficients take more than `limit` bytes.
    private mutating func writeMoved(
        _ blocks: BlockSet,
        _ scroll: Scroll,
        _ source: MacroblockResidual.Source,
        _ codedProbability: UInt8,
        limit: Int
    ) -> Bool {
        vectors.reset()
        for row in 0..<patched.rows {
            for index in left.indices { left[index] = 0 }
            var run: (start: Int, motion: Int?) = (0, nil)
            for column in 0..<patched.columns {
                var isMoved = scroll.blocks.contains(column: column, row: row)
                var isCoded = false
                if blocks.contains(column: column, row: row) {
                    isMoved = isMoved || isNearer(column, row, scroll.rows, to: source)
                    let rows = isMoved ? scroll.rows : 0
                    residual.predict(from: reconstruction.planes, column, row, rows: rows)
                    isCoded = residual.compute(source, column, row)
                }
                writeHead(isCoded: isCoded, codedProbability)
                vectors.write(isMoved ? scroll.rows : 0, column, row, to: &modes, tracker.vectors)
                if isMoved { patched.insert(column: column, row: row) }
                // Adjacent macroblocks with the same motion are copied together.
                let motion = isCoded ? nil : isMoved ? scroll.rows : 0
                if motion != run.motion {
                    copy(run.start..<column, row, run.motion)
                    run = (column, motion)
                }
                writeRest(isCoded: isCoded, into: spare, column, row)
            }
            copy(run.start..<patched.columns, row, run.motion)
            if tokens.encoder.bytes.count > limit { return false }
        }
        swap(&reconstruction, &spare)
        return true
    }

    /// Whether a macroblock resembles the picture `rows` further down more than the picture at its own place.
    private func isNearer(_ column: Int, _ row: Int, _ rows: Int, to source: MacroblockResidual.Source) -> Bool {
        // A vector must stay within the border that decoders keep around the picture.
        if abs(rows) > 16 { return false }
        residual.predict(from: reconstruction.planes, column, row, rows: rows)
        let distance = residual.distance(to: source, column, row)
        residual.predict(from: reconstruction.planes, column, row, rows: 0)
        return distance < residual.distance(to: source, column, row)
    }

    /// Copies macroblocks without a difference; none if `motion` is nil.
    private func copy(_ columns: Range<Int>, _ row: Int, _ motion: Int?) {
        guard let motion, !columns.isEmpty else { return }
        let target = spare.planes.from(columns.lowerBound, row)
        prediction.predict(columns, row, from: reconstruction.planes, rows: motion, into: target)
    }

    /// Copies the patched macroblocks into a copy of the encoder's last frame. Returns false if they are lost with an
    /// aborted patch.
    func copyHeld(into picture: inout PlanarPicture) -> Bool {
        if isSpoiled { return false }
        held.forEachRectangle { columns, rows in
            picture.copy(held.pixels(columns: columns, rows: rows), from: reconstruction.planes.source)
        }
        return true
    }

    /// Copies the whole picture into the reconstruction.
    private mutating func hold(_ base: Planes) {
        if held.isFull { return }
        for row in 0..<held.rows {
            for column in 0..<held.columns where !held.contains(column: column, row: row) {
                let target = reconstruction.planes.from(column, row)
                prediction.predict(column..<column + 1, row, from: base, rows: 0, into: target)
            }
        }
        held.insertAll()
    }

    /// Writes the part of a macroblock that follows its modes.
    @inline(__always)
    private mutating func writeRest(isCoded: Bool, into target: PlaneMemory, _ column: Int, _ row: Int) {
        if isCoded {
            writeTokens(column)
            residual.add(into: target.planes, column, row)
            patched.insert(column: column, row: row)
            held.insert(column: column, row: row)
        } else {
            for index in 0..<9 {
                above[column * 9 + index] = 0
                left[index] = 0
            }
        }
    }

    /// The frame header without its first three bytes (RFC 6386 §9.3 to §9.11, §19.2).
    private mutating func beginFrame(refreshesGolden: Bool, _ codedProbability: UInt8) {
        modes.removeAll()
        tokens.encoder.removeAll()
        modes.write(0, bits: 1)  // no segments
        modes.write(version, bits: 1)  // the kind of loop filter that goes with the version
        modes.write(0, bits: 6 + 3)  // of no strength
        modes.write(0, bits: 1)  // nor adjustments of it
        modes.write(0, bits: 2)  // one partition of coefficients
        modes.write(MacroblockResidual.quantizerIndex, bits: 7)
        modes.write(0, bits: 5)  // the same for all kinds of coefficients
        modes.write(refreshesGolden ? 1 : 0, bits: 1)
        modes.write(0, bits: 1)  // the alternate reference frame stays
        if !refreshesGolden { modes.write(0, bits: 2) }  // and nothing is copied to either
        modes.write(0, bits: 2)
        modes.write(0, bits: 2)  // sign biases
        modes.write(0, bits: 1)  // probabilities hold for this frame only
        modes.write(0, bits: 1)  // the last frame stays
        for probability in CoefficientProbabilities.unchanged { modes.write(false, probability) }
        modes.write(1, bits: 1)  // macroblocks say whether they have coefficients
        modes.write(Int(codedProbability), bits: 8)
        modes.write(1, bits: 8)  // intra macroblocks: none
        modes.write(isOnGolden ? 1 : 255, bits: 8)  // from the last frame
        modes.write(255, bits: 8)  // or else from the golden frame
        modes.write(0, bits: 2)  // intra probabilities stay
        for probability in VectorProbabilities.unchanged { modes.write(false, probability) }
    }

    /// An inter macroblock, up to its motion (RFC 6386 §19.3).
    @inline(__always)
    private mutating func writeHead(isCoded: Bool, _ codedProbability: UInt8) {
        modes.write(!isCoded, codedProbability)
        modes.write(true, 1)
        if isOnGolden {
            modes.write(true, 1)
            modes.write(false, 255)
        } else {
            modes.write(false, 255)
        }
    }

    private mutating func writeTokens(_ column: Int) {
        writeTokens(MacroblockResidual.means, .means, column * 9 + 8, 8)
        for block in 0..<16 { writeTokens(block, .lumaWithoutMean, column * 9 + block % 4, block / 4) }
        for block in 0..<8 {
            let plane = 4 + block / 4 * 2
            writeTokens(16 + block, .chroma, column * 9 + plane + block % 2, plane + block % 4 / 2)
        }
    }

    /// Writes the tokens of one block, and records for its neighbours whether there are any.
    private mutating func writeTokens(_ block: Int, _ kind: TokenWriter.Kind, _ top: Int, _ side: Int) {
        let context = Int(above[top] + left[side])
        let hasAny = tokens.write(residual.levels(of: block), kind, context: context, tracker.coefficients)
        above[top] = hasAny ? 1 : 0
        left[side] = hasAny ? 1 : 0
    }

    /// Assembles the frame. Returns its size in bytes; nil if the size of its first partition has more than 19 bits.
    private mutating func finishFrame() -> Int? {
        modes.finish()
        tokens.encoder.finish()
        let size = modes.bytes.count
        guard size < 1 << 19 else { return nil }
        frame.removeAll(keepingCapacity: true)
        // A shown inter frame, and the size of its first partition (RFC 6386 §9.1).
        let tag = 1 | version << 1 | 1 << 4 | size << 5
        for shift in [0, 8, 16] { frame.append(UInt8(truncatingIfNeeded: tag >> shift)) }
        frame += modes.bytes
        frame += tokens.encoder.bytes
        return frame.count
    }
}
