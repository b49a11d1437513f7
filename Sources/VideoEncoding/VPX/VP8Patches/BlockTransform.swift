/// The transforms of VP8 on blocks of 4x4 numbers, row by row, in place (RFC 6386 §14). The inverse ones equal those of
/// decoders exactly. The forward ones are their inverse as nearly as integers allow.
///
/// Invariant: every pointer has 16 numbers.
enum BlockTransform {
    typealias Block = UnsafeMutablePointer<Int32>

    /// Differences to coefficients: a discrete cosine transform, twice the orthonormal one.
    @inline(__always)
    static func forwardCosine(_ block: Block) {
        // In 1/4096: sqrt(2) times the cosine and the sine of pi/8. Rows keep three further bits, which the columns
        // round.
        let (cosine, sine): (Int32, Int32) = (5352, 2217)
        for row in 0..<4 {
            let line = block + 4 * row
            let (a, b) = ((line[0] + line[3]) << 3, (line[1] + line[2]) << 3)
            let (c, d) = ((line[1] - line[2]) << 3, (line[0] - line[3]) << 3)
            line[0] = a + b
            line[2] = a - b
            line[1] = (c * sine + d * cosine + 2048) >> 12
            line[3] = (d * sine - c * cosine + 2048) >> 12
        }
        for column in 0..<4 {
            let line = block + column
            let (a, b) = (line[0] + line[12], line[4] + line[8])
            let (c, d) = (line[4] - line[8], line[0] - line[12])
            line[0] = (a + b + 8) >> 4
            line[8] = (a - b + 8) >> 4
            line[4] = (c * sine + d * cosine + 32768) >> 16
            line[12] = (d * sine - c * cosine + 32768) >> 16
        }
    }

    /// Coefficients to differences (§14.3).
    @inline(__always)
    static func inverseCosine(_ block: Block) {
        for column in 0..<4 {
            let line = block + column
            let (even, odd) = (line[0] + line[8], line[0] - line[8])
            let c = timesSine(line[4]) - timesCosine(line[12])
            let d = timesCosine(line[4]) + timesSine(line[12])
            line[0] = even + d
            line[12] = even - d
            line[4] = odd + c
            line[8] = odd - c
        }
        for row in 0..<4 {
            let line = block + 4 * row
            let (even, odd) = (line[0] + line[2], line[0] - line[2])
            let c = timesSine(line[1]) - timesCosine(line[3])
            let d = timesCosine(line[1]) + timesSine(line[3])
            line[0] = (even + d + 4) >> 3
            line[3] = (even - d + 4) >> 3
            line[1] = (odd + c + 4) >> 3
            line[2] = (odd - c + 4) >> 3
        }
    }

    /// Times sqrt(2) sin(pi/8), in 1/65536.
    @inline(__always)
    private static func timesSine(_ value: Int32) -> Int32 { (value * 35468) >> 16 }

    /// Times sqrt(2) cos(pi/8): the value, plus the fraction in 1/65536.
    @inline(__always)
    private static func timesCosine(_ value: Int32) -> Int32 { value + (value * 20091) >> 16 }

    /// The 16 means of a macroblock's luma blocks to coefficients: half of a Walsh-Hadamard transform.
    static func forwardWalsh(_ block: Block) {
        walsh(block)
        for index in 0..<16 { block[index] = (block[index] + (block[index] < 0 ? 0 : 1)) >> 1 }
    }

    static func inverseWalsh(_ block: Block) {
        walsh(block)
        for index in 0..<16 { block[index] = (block[index] + 3) >> 3 }
    }

    /// The sums and differences. They are their own inverse except for a factor of 16.
    @inline(__always)
    private static func walsh(_ block: Block) {
        for column in 0..<4 { walshLine(block + column, 4) }
        for row in 0..<4 { walshLine(block + 4 * row, 1) }
    }

    @inline(__always)
    private static func walshLine(_ line: Block, _ step: Int) {
        let (a, b) = (line[0] + line[3 * step], line[step] + line[2 * step])
        let (c, d) = (line[step] - line[2 * step], line[0] - line[3 * step])
        line[0] = a + b
        line[step] = c + d
        line[2 * step] = a - b
        line[3 * step] = d - c
    }
}
