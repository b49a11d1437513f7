/// The motion of a frame's macroblocks, each of which stands still or moves by the same number of rows. VP8 codes it by
/// the motion of neighbours (RFC 6386 §16.3).
struct VectorField {
    /// How far a vector may reach beyond the picture, in pixels: the macroblock is then predicted from the border
    /// alone. Longer vectors of neighbours are cut.
    private static let border = 16

    private let rows: Int
    /// The motion of the row above, from the left, with a macroblock beyond each edge; nil for none.
    private var above: [Int?]
    private var current: [Int?]

    init(columns: Int, rows: Int) {
        self.rows = rows
        above = Array(repeating: nil, count: columns + 1)
        current = above
    }

    mutating func reset() {
        for index in above.indices { above[index] = nil }
        for index in current.indices { current[index] = nil }
    }

    /// Codes the motion of the next macroblock, from left to right and from top to bottom.
    ///
    /// - Parameter motion: how many rows further down the source is: within `Scroll.range`, and at most just beyond the
    ///   picture.
    mutating func write(
        _ motion: Int,
        _ column: Int,
        _ row: Int,
        to encoder: inout BoolEncoder,
        _ probabilities: [UInt8]
    ) {
        precondition(Scroll.range ~= motion && motion == cut(motion, row), "a vector that VP8 cannot code")
        if column == 0 {
            swap(&above, &current)
            current[0] = nil
        }
        // The weights of the neighbours above, on the left, and between them.
        var (still, moving, found) = (0, 0, 0)
        for (neighbour, weight) in [(above[column + 1], 2), (current[column], 2), (above[column], 1)] {
            guard let neighbour else { continue }
            if neighbour == 0 {
                still += weight
            } else {
                moving += weight
                found = neighbour
            }
        }
        let nearest = cut(found, row)
        let best = moving >= still ? nearest : 0
        current[column + 1] = motion
        encoder.write(motion != 0, Self.contexts[still][0])
        if motion == 0 { return }
        let isNearest = moving > 0 && motion == nearest
        encoder.write(!isNearest, Self.contexts[moving][1])
        if isNearest { return }
        // There is no second nearest vector, and the macroblock is not split.
        encoder.write(true, Self.contexts[0][2])
        encoder.write(false, Self.contexts[0][3])
        encoder.write(component: (motion - best) * 4, probabilities, from: VectorProbabilities.rows)
        encoder.write(component: 0, probabilities, from: VectorProbabilities.columns)
    }

    /// A vector, cut at the border.
    private func cut(_ motion: Int, _ row: Int) -> Int {
        let top = -16 * row - Self.border
        let bottom = 16 * (rows - 1 - row) + Self.border
        return min(max(motion, top), bottom)
    }

    /// Probabilities of the motion modes, indexed by the weight of the neighbours with that motion (§16.3).
    private static let contexts: [[UInt8]] = [
        [7, 1, 1, 143], [14, 18, 14, 107], [135, 64, 57, 68], [60, 56, 128, 65], [159, 134, 128, 34],
        [234, 188, 128, 28],
    ]
}
