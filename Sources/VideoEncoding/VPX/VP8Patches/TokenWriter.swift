/// Writes the coefficients of blocks (RFC 6386 §13).
struct TokenWriter {
    /// The kinds of block, as the probabilities number them.
    enum Kind: Int {
        /// Luma whose mean is in another block. Its first coefficient is left out.
        case lumaWithoutMean = 0
        /// The means of the 16 luma blocks.
        case means = 1
        case chroma = 2
    }

    private static let bands: [Int] = [0, 1, 2, 3, 6, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7]
    /// The place in the block of positions 0...15 in the order of coding.
    static let zigzag: [Int] = [0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15]

    /// The categories of levels above 4 (§13.2): the least level of each, and the probabilities of the bits of the
    /// difference from it.
    private static let categories: [(least: Int, bits: [UInt8])] = [
        (5, [159]),
        (7, [165, 145]),
        (11, [173, 148, 140]),
        (19, [176, 155, 140, 135]),
        (35, [180, 157, 141, 134, 130]),
        (67, [254, 254, 243, 230, 196, 177, 153, 140, 133, 130, 129]),
    ]

    var encoder = BoolEncoder()

    /// The largest level. The last category can code it in eleven bits, and decoders can multiply it by any step.
    static let mostLevel = 2047

    /// - Parameters:
    ///   - levels: 16 quantized coefficients, in the order of coding, no larger than `mostLevel`.
    ///   - context: how many of the blocks above and on the left have coefficients.
    /// - Returns: whether this one has any.
    mutating func write(
        _ levels: UnsafePointer<Int32>,
        _ kind: Kind,
        context: Int,
        _ probabilities: [UInt8]
    ) -> Bool {
        let first = kind == .lumaWithoutMean ? 1 : 0
        var end = 16
        while end > first, levels[end - 1] == 0 { end -= 1 }
        var context = context
        var followsZero = false
        for position in first..<16 {
            let node = CoefficientProbabilities.offset(
                block: kind.rawValue,
                band: Self.bands[position],
                context: context
            )
            func probability(_ index: Int) -> UInt8 { probabilities[node + index] }
            if position == end {
                encoder.write(false, probability(0))
                break
            }
            // A zero is never the last one.
            if !followsZero { encoder.write(true, probability(0)) }
            let level = levels[position]
            let magnitude = Int(level.magnitude)
            encoder.write(magnitude > 0, probability(1))
            followsZero = magnitude == 0
            context = min(magnitude, 2)
            if magnitude == 0 { continue }
            encoder.write(magnitude > 1, probability(2))
            if magnitude > 1 { writeMagnitude(magnitude, node, probabilities) }
            encoder.write(level < 0, 128)
        }
        return end > first
    }

    /// - Parameter magnitude: 2 or more.
    private mutating func writeMagnitude(_ magnitude: Int, _ node: Int, _ probabilities: [UInt8]) {
        precondition(magnitude <= Self.mostLevel, "a level that VP8 cannot code")
        func probability(_ index: Int) -> UInt8 { probabilities[node + index] }
        encoder.write(magnitude > 4, probability(3))
        if magnitude <= 4 {
            encoder.write(magnitude > 2, probability(4))
            if magnitude > 2 { encoder.write(magnitude > 3, probability(5)) }
            return
        }
        encoder.write(magnitude > 10, probability(6))
        if magnitude <= 10 {
            encoder.write(magnitude > 6, probability(7))
        } else {
            encoder.write(magnitude > 34, probability(8))
            let (border, index) = magnitude > 34 ? (66, 10) : (18, 9)
            encoder.write(magnitude > border, probability(index))
        }
        let (least, bits) = Self.categories.last { $0.least <= magnitude }!
        for (index, probability) in bits.enumerated() {
            encoder.write((magnitude - least) >> (bits.count - 1 - index) & 1 != 0, probability)
        }
    }
}
