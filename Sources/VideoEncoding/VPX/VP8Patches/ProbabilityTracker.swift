/// Tracks the probabilities of coefficients and motion vectors through a stream of VP8 frames. Each frame keeps those
/// of the one before, except for changes in its header (RFC 6386 §9, §19.2).
struct ProbabilityTracker {
    /// The probabilities at the start of the next frame.
    private(set) var coefficients = CoefficientProbabilities.defaults
    private(set) var vectors = VectorProbabilities.defaults

    /// Reads a frame. Returns false if its header is truncated or not VP8's.
    mutating func note(_ frame: Span<UInt8>) -> Bool {
        guard frame.count > 10 else { return false }
        let isKeyframe = frame[0] & 1 == 0
        if isKeyframe, frame[3] != 0x9d || frame[4] != 0x01 || frame[5] != 0x2a { return false }
        var decoder = BoolDecoder(frame, from: isKeyframe ? 10 : 3)
        if isKeyframe {
            self = ProbabilityTracker()
            _ = decoder.read(bits: 2)  // colour space, clamping
        }
        decoder.skipSegmentation()
        decoder.skipLoopFilter()
        _ = decoder.read(bits: 2)  // token partitions
        _ = decoder.read(bits: 7)  // base quantizer
        for _ in 0..<5 where decoder.readFlag() { _ = decoder.read(bits: 5) }
        if !isKeyframe {
            let refreshesGolden = decoder.readFlag()
            let refreshesAlternate = decoder.readFlag()
            if !refreshesGolden { _ = decoder.read(bits: 2) }
            if !refreshesAlternate { _ = decoder.read(bits: 2) }
            _ = decoder.read(bits: 2)  // sign biases
        }
        // Without the flag, the changes hold for this frame only.
        guard decoder.readFlag() else { return true }
        if !isKeyframe { _ = decoder.readFlag() }  // refreshes the last frame
        decoder.readCoefficientChanges(of: &coefficients)
        if isKeyframe { return true }
        if decoder.readFlag() { _ = decoder.read(bits: 8) }  // whether macroblocks have coefficients
        _ = decoder.read(bits: 24)  // of intra macroblocks, the last frame and the golden frame
        if decoder.readFlag() { _ = decoder.read(bits: 32) }  // intra modes of luma
        if decoder.readFlag() { _ = decoder.read(bits: 24) }  // and of chroma
        decoder.readVectorChanges(of: &vectors)
        return true
    }
}

extension BoolDecoder {
    fileprivate mutating func skipSegmentation() {
        guard readFlag() else { return }
        let changesMap = readFlag()
        let changesData = readFlag()
        if changesData {
            _ = readFlag()
            for _ in 0..<4 where readFlag() { _ = read(bits: 8) }
            for _ in 0..<4 where readFlag() { _ = read(bits: 7) }
        }
        if changesMap {
            for _ in 0..<3 where readFlag() { _ = read(bits: 8) }
        }
    }

    fileprivate mutating func skipLoopFilter() {
        _ = read(bits: 1 + 6 + 3)  // kind, level, sharpness
        guard readFlag(), readFlag() else { return }
        for _ in 0..<8 where readFlag() { _ = read(bits: 7) }
    }

    fileprivate mutating func readCoefficientChanges(of probabilities: inout [UInt8]) {
        for (index, unchanged) in CoefficientProbabilities.unchanged.enumerated() where read(unchanged) {
            probabilities[index] = UInt8(read(bits: 8))
        }
    }

    fileprivate mutating func readVectorChanges(of probabilities: inout [UInt8]) {
        for (index, unchanged) in VectorProbabilities.unchanged.enumerated() where read(unchanged) {
            let value = read(bits: 7)
            probabilities[index] = value == 0 ? 1 : UInt8(value << 1)
        }
    }
}
