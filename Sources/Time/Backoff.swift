/// The waits after failures in a row: each is longer than the one before, up to a limit.
package struct Backoff: Sendable, Equatable {
    package enum Growth: Sendable {
        /// Twice as long.
        case double
        /// Longer by a quarter.
        case quarter

        fileprivate func after(_ wait: Duration) -> Duration {
            switch self {
            case .double: wait * 2
            case .quarter: wait * 5 / 4
            }
        }
    }

    private let range: ClosedRange<Duration>
    private let growth: Growth
    private var next: Duration

    /// - Parameter range: from the first wait to the longest.
    package init(_ range: ClosedRange<Duration>, by growth: Growth = .double) {
        (self.range, self.growth) = (range, growth)
        next = range.lowerBound
    }

    /// Records a failure. Returns how long to wait before the next attempt.
    package mutating func fail() -> Duration {
        defer { next = min(growth.after(next), range.upperBound) }
        return next
    }

    /// Records a success: the failures before it no longer count.
    package mutating func succeed() { next = range.lowerBound }
}
