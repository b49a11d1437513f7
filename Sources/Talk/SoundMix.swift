/// 10 ms of several voices at once, in two channels.
struct SoundMix {
    static let channels = 2
    /// In both channels.
    static let sampleCount = 960
    /// Louder sums are sound; these are rounding.
    private static let nothing: ClosedRange<Int32> = -1...1

    private var sums = [Int32](repeating: 0, count: sampleCount)
    /// The result of `finish`.
    private(set) var samples = [Int16](repeating: 0, count: sampleCount)

    /// Adds a voice.
    ///
    /// - Parameter voice: `sampleCount` samples, interleaved.
    /// - Returns: the sum of the squares of its samples.
    mutating func add(_ voice: ArraySlice<Int16>) -> Double {
        var squares = 0
        for (index, sample) in zip(sums.indices, voice) {
            sums[index] += Int32(sample)
            squares += Int(sample) * Int(sample)
        }
        return Double(squares)
    }

    /// Makes samples of the sums, and begins anew. Louder sums than samples can hold are clipped.
    ///
    /// - Returns: whether there is anything to hear.
    mutating func finish() -> Bool {
        var isSilent = true
        for index in sums.indices {
            samples[index] = Int16(clamping: sums[index])
            if !(Self.nothing ~= sums[index]) { isSilent = false }
            sums[index] = 0
        }
        return !isSilent
    }
}
