import TestSupport

extension SplitMix {
    /// Every fourth byte or so is 0 or 255, where sums saturate.
    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in
            let number = next()
            return number & 0x700 == 0 ? 0 : number & 0x700 == 0x100 ? 255 : UInt8(truncatingIfNeeded: number)
        }
    }
}
