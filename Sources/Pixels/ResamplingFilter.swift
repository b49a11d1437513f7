/// For each sample of a scaled line, the samples of the original that it depends on, with their weights.
///
/// A shorter line takes the mean over the stretch that each sample covers. A longer one runs straight between the
/// centres of adjacent samples. A sample's weights depend on its place in the whole line only, so any part of a picture
/// is scaled as in the whole.
struct ResamplingFilter: Sendable {
    /// Weights per sample.
    let taps: Int
    /// For each sample, the first of `taps` neighbours.
    private(set) var first: [UInt32] = []
    /// `taps` for each sample, adding up to `unity`.
    private(set) var weights: [UInt16] = []

    static let unity = 256

    init(from source: Int, to destination: Int) {
        let lines = (0..<destination).map { index in
            destination < source
                ? Self.mean(index, source, destination) : Self.interpolation(index, source, destination)
        }
        taps = lines.map(\.weights.count).max() ?? 1
        for line in lines {
            // A stretch at the far end is moved back so that all its taps exist.
            let start = min(line.first, source - taps)
            let before = line.first - start
            first.append(UInt32(start))
            weights += Array(repeating: 0, count: before) + line.weights
            weights += Array(repeating: 0, count: taps - before - line.weights.count)
        }
    }

    /// The samples of the scaled line that depend on a stretch of the original.
    func affected(by stretch: Range<Int>) -> Range<Int> {
        // Both `first` and the ends of the neighbourhoods never fall from a sample to the next.
        let start = first.partitionPoint { Int($0) + taps > stretch.lowerBound }
        let end = first.partitionPoint { Int($0) >= stretch.upperBound }
        return start..<max(start, end)
    }

    /// The samples of the original on which a stretch of the scaled line depends.
    func support(of stretch: Range<Int>) -> Range<Int> {
        Int(first[stretch.lowerBound])..<Int(first[stretch.upperBound - 1]) + taps
    }

    /// In units of 1 / destination of a sample, the stretch is `source` long and a sample `destination`.
    private static func mean(_ index: Int, _ source: Int, _ destination: Int) -> (first: Int, weights: [UInt16]) {
        let start = index * source
        let end = start + source
        let first = start / destination
        // Rounding the covered length at each border, and not each weight, keeps the sum.
        let borders = (first...(end - 1) / destination).map { sample in
            (unity * (min(end, (sample + 1) * destination) - start) + source / 2) / source
        }
        return (first, zip(borders, [0] + borders).map { UInt16($0 - $1) })
    }

    private static func interpolation(
        _ index: Int,
        _ source: Int,
        _ destination: Int
    ) -> (first: Int, weights: [UInt16]) {
        // The centre's distance from that of sample 0, in units of 1 / (2 * destination) of a sample.
        let centre = min(max((2 * index + 1) * source - destination, 0), 2 * destination * (source - 1))
        let first = centre / (2 * destination)
        let right = (unity * (centre % (2 * destination)) + destination) / (2 * destination)
        return (first, right == 0 ? [UInt16(unity)] : [UInt16(unity - right), UInt16(right)])
    }
}

extension [UInt32] {
    /// The index of the first element that fulfils a condition; `count` if none does. All later elements must fulfil it
    /// too.
    fileprivate func partitionPoint(_ condition: (UInt32) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
