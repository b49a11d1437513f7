import TestSupport
import Testing

@testable import RTP

@Suite struct SequenceSetTests {
    /// Against a set that keeps numbers one by one, in a window that moves on.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func itAnswersAsASetOfNumbers(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var set = SequenceSet()
        var plain: Set<Int64> = []
        var start: Int64 = 70_000 + Int64(seed)
        let capacity = Int64(SequenceSet.capacity)
        for round in 0..<6000 {
            // Some rounds fill it, some empty it.
            let number = start + Int64.random(in: 0..<(round % 500 < 250 ? capacity : 130), using: &random)
            if (round / 1000 + Int.random(in: 0...2, using: &random)) % 3 != 0 {
                set.insert(number)
                plain.insert(number)
            } else {
                set.remove(number)
                plain.remove(number)
            }
            if round % 40 == 0 {
                let next = start + Int64.random(in: 0...300, using: &random)
                for gone in start..<next {
                    set.remove(gone)
                    plain.remove(gone)
                }
                start = next
            }
            let from = start + Int64.random(in: 0..<capacity, using: &random)
            let end = Int64.random(in: from...start + capacity, using: &random)
            #expect(set.contains(from) == plain.contains(from))
            #expect(set.first(from: from, before: end) == (from..<end).first { plain.contains($0) } ?? end)
            #expect(
                set.first(from: from, before: end, isAbsent: true) == (from..<end).first { !plain.contains($0) } ?? end
            )
            #expect(set.last(through: from, from: start) == (start...from).last { plain.contains($0) })
        }
    }

    /// The whole window, which ends in the word in which it begins.
    @Test(arguments: [0, 1, 63, 64, 100] as [Int64])
    func theWindowMayBeginAnywhere(start: Int64) {
        let capacity = Int64(SequenceSet.capacity)
        var set = SequenceSet()
        #expect(set.first(from: start, before: start + capacity) == start + capacity)
        #expect(set.last(through: start + capacity - 1, from: start) == nil)
        set.insert(start + capacity - 1)
        #expect(set.first(from: start, before: start + capacity) == start + capacity - 1)
        #expect(set.first(from: start, before: start + capacity - 1) == start + capacity - 1)
        #expect(set.last(through: start + capacity - 1, from: start) == start + capacity - 1)
        #expect(set.last(through: start + capacity - 2, from: start) == nil)
    }
}
