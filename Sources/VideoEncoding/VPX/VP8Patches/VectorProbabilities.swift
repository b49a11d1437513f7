/// VP8's probabilities of motion vectors: 19 for rows, then 19 for columns (RFC 6386 §17.2).
enum VectorProbabilities {
    /// The probabilities of a keyframe.
    static let defaults: [UInt8] = [
        162, 128, 225, 146, 172, 147, 214, 39, 156, 128, 129, 132, 75, 145, 178, 206, 239, 254, 254,
        164, 128, 204, 170, 119, 235, 140, 230, 228, 128, 130, 130, 74, 148, 180, 203, 236, 254, 254,
    ]

    /// For each, the probability that a frame does not change it, in 1/256.
    static let unchanged: [UInt8] = [
        237, 246, 253, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 250, 250, 252, 254, 254,
        231, 243, 245, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 251, 251, 254, 254, 254,
    ]

    /// The indices of the first of 19 for each direction.
    static let rows = 0
    static let columns = 19
    /// Offsets from there: whether a number is short, its sign, the tree of short numbers, the bits of long ones.
    static let isShort = 0
    static let sign = 1
    static let short = 2
    static let long = 9
}

extension BoolEncoder {
    /// Codes one component of a vector, in quarters of a pixel, -1023...1023 (RFC 6386 §17.2).
    mutating func write(component: Int, _ probabilities: [UInt8], from start: Int) {
        typealias P = VectorProbabilities
        precondition(-1023...1023 ~= component, "a vector of more than ten bits")
        let magnitude = abs(component)
        write(magnitude > 7, probabilities[start + P.isShort])
        if magnitude <= 7 {
            let tree = start + P.short
            let (high, middle, low) = (magnitude & 4 != 0, magnitude & 2 != 0, magnitude & 1 != 0)
            write(high, probabilities[tree])
            write(middle, probabilities[tree + (high ? 4 : 1)])
            write(low, probabilities[tree + (high ? 5 : 2) + (middle ? 1 : 0)])
            if magnitude == 0 { return }
        } else {
            for bit in [0, 1, 2, 9, 8, 7, 6, 5, 4] {
                write(magnitude >> bit & 1 != 0, probabilities[start + P.long + bit])
            }
            // If no higher bit is set, this one must be.
            if magnitude > 15 { write(magnitude & 8 != 0, probabilities[start + P.long + 3]) }
        }
        write(component < 0, probabilities[start + P.sign])
    }
}
