/// Numbers within a moving window, as bits of a ring. A search takes one step for each 64 numbers.
struct SequenceSet: Sendable {
    /// How far apart two numbers may be.
    static let capacity = 2048

    private var words = [UInt64](repeating: 0, count: capacity / 64)

    func contains(_ number: Int64) -> Bool { words[Self.word(of: number)] >> Self.bit(of: number) & 1 != 0 }

    mutating func insert(_ number: Int64) { words[Self.word(of: number)] |= 1 << Self.bit(of: number) }

    mutating func remove(_ number: Int64) { words[Self.word(of: number)] &= ~(1 << Self.bit(of: number)) }

    mutating func removeAll() { for index in words.indices { words[index] = 0 } }

    /// The first number from `start` on that is in the set, or that is not if `isAbsent`; `end` if there is none before that.
    ///
    /// - Parameter end: `start` plus the capacity at the most.
    func first(from start: Int64, before end: Int64, isAbsent: Bool = false) -> Int64 {
        var number = start
        while number < end {
            let word = words[Self.word(of: number)]
            let rest = (isAbsent ? ~word : word) >> Self.bit(of: number)
            if rest != 0 { return min(number + Int64(rest.trailingZeroBitCount), end) }
            number = (number | 63) + 1
        }
        return end
    }

    /// The last number up to `last` that is in the set; nil if there is none from `start` on.
    ///
    /// - Parameter start: `last` less the capacity, plus one, at the least.
    func last(through last: Int64, from start: Int64) -> Int64? {
        var number = last
        while number >= start {
            let rest = words[Self.word(of: number)] << (63 - Self.bit(of: number))
            if rest != 0 {
                let found = number - Int64(rest.leadingZeroBitCount)
                return found >= start ? found : nil
            }
            number = (number & ~63) - 1
        }
        return nil
    }

    private static func word(of number: Int64) -> Int { Int(number >> 6) & (capacity / 64 - 1) }
    private static func bit(of number: Int64) -> Int64 { number & 63 }
}
