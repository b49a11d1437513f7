import Testing

@testable import Pixels

@Suite struct ResamplingFilterTests {
    /// Lengths of the original and the scaled line.
    static let lengths = [
        (1, 1), (3, 3), (2, 1), (10, 3), (3, 10), (7, 5), (5, 7), (100, 1), (1, 100), (640, 639), (1920, 853),
        (853, 1920),
    ]

    /// No sample is darker or brighter than what it is made of, and it is made of samples that there are.
    @Test(arguments: lengths) func weightsAreWhole(source: Int, destination: Int) {
        let filter = ResamplingFilter(from: source, to: destination)
        #expect(filter.first.count == destination && filter.weights.count == destination * filter.taps)
        for index in 0..<destination {
            let weights = filter.weights[index * filter.taps..<(index + 1) * filter.taps]
            #expect(weights.reduce(0) { $0 + Int($1) } == ResamplingFilter.unity)
            #expect(Int(filter.first[index]) + filter.taps <= source)
        }
    }

    @Test func aLineOfTheSameLengthStaysAsItIs() {
        let filter = ResamplingFilter(from: 7, to: 7)
        #expect(filter.taps == 1 && filter.first == Array(0..<7))
        #expect(filter.weights == Array(repeating: 256, count: 7))
    }

    @Test func halfAsManyAreTheMeansOfTwo() {
        let filter = ResamplingFilter(from: 10, to: 5)
        #expect(filter.taps == 2 && filter.first == [0, 2, 4, 6, 8])
        #expect(filter.weights == Array(repeating: 128, count: 10))
    }

    /// Between the centres of two samples, and beyond those of the first and the last one.
    @Test func twiceAsManyRunStraight() {
        let filter = ResamplingFilter(from: 2, to: 4)
        #expect(filter.taps == 2 && filter.first == [0, 0, 0, 0])
        #expect(filter.weights == [256, 0, 192, 64, 64, 192, 0, 256])
    }

    /// Against looking at each sample.
    @Test(arguments: lengths) func whatAChangeConcernsIsKnown(source: Int, destination: Int) {
        let filter = ResamplingFilter(from: source, to: destination)
        func neighbours(_ index: Int) -> Range<Int> {
            Int(filter.first[index])..<Int(filter.first[index]) + filter.taps
        }
        for start in stride(from: 0, to: source, by: max(1, source / 17)) {
            for length in Set([1, 2, source / 3, source - start]) where length > 0 && start + length <= source {
                let stretch = start..<start + length
                let concerned = (0..<destination).filter { neighbours($0).overlaps(stretch) }
                #expect(Array(filter.affected(by: stretch)) == concerned)
            }
        }
        for start in stride(from: 0, to: destination, by: max(1, destination / 17)) {
            let stretch = start..<min(start + 3, destination)
            let support = neighbours(stretch.lowerBound).lowerBound..<neighbours(stretch.upperBound - 1).upperBound
            #expect(filter.support(of: stretch) == support)
        }
    }
}
