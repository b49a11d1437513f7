/// SplitMix64: the same numbers in every run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    /// Every fourth byte or so is 0 or 255, where sums saturate.
    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in
            let number = next()
            return number & 0x700 == 0 ? 0 : number & 0x700 == 0x100 ? 255 : UInt8(truncatingIfNeeded: number)
        }
    }
}
