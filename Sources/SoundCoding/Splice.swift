/// A place at which sound can inaudibly be made shorter or longer by one period: the sound there comes again a period
/// later.
package struct Splice {
    /// Samples in each channel of the fade from one passage into the other: 5 ms.
    private static let overlap = 240
    /// Samples of a period: 2.5 to 12.5 ms, as of voices from 80 to 400 Hz.
    private static let periods = 120...600

    private let channels: Int
    /// Samples in each channel by which the sound becomes shorter or longer.
    package let period: Int
    /// The likeness of the two passages: 1 if they are equal, 0 if they have nothing in common.
    package let likeness: Float

    /// Finds the period after which the sound is most like its beginning.
    ///
    /// - Parameter channels: 1 or 2, interleaved.
    /// - Returns: nil if there are fewer than 360 samples in each channel.
    package init?(atBeginningOf sound: [Int16], channels: Int) {
        let count = min(sound.count / channels, Self.periods.upperBound + Self.overlap)
        guard count >= Self.periods.lowerBound + Self.overlap else { return nil }
        let mono = (0..<count).map { index in
            channels == 1 ? Float(sound[index]) : Float(sound[2 * index]) + Float(sound[2 * index + 1])
        }
        func power(_ start: Int) -> Float {
            var sum: Float = 0
            for index in start..<start + Self.overlap { sum += mono[index] * mono[index] }
            return sum
        }
        let first = power(0)
        var (best, alike) = (Self.periods.lowerBound, -Float.infinity)
        for period in Self.periods.lowerBound...count - Self.overlap {
            var product: Float = 0
            for index in 0..<Self.overlap { product += mono[index] * mono[index + period] }
            let both = (first * power(period)).squareRoot()
            let likeness = both > 0 ? product / both : 0
            if likeness > alike { (best, alike) = (period, likeness) }
        }
        (self.channels, period, likeness) = (channels, best, alike)
    }

    /// Removes a period from the sound.
    package func shorten(_ sound: inout [Int16]) {
        let seam = seam(in: sound, from: 0, to: period)
        sound.replaceSubrange(..<((period + Self.overlap) * channels), with: seam)
    }

    /// Repeats a period of the sound.
    package func lengthen(_ sound: inout [Int16]) {
        let seam = seam(in: sound, from: period, to: 0)
        sound.replaceSubrange(..<(Self.overlap * channels), with: sound[..<(period * channels)] + seam)
    }

    /// The fade from the first passage into the second.
    private func seam(in sound: [Int16], from first: Int, to second: Int) -> [Int16] {
        (0..<Self.overlap * channels).map { index in
            let part = index / channels + 1
            let (old, new) = (Int(sound[first * channels + index]), Int(sound[second * channels + index]))
            return Int16((old * (Self.overlap - part) + new * part) / Self.overlap)
        }
    }
}
