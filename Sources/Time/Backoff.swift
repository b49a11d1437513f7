/// The waits after failures in a row: each is longer than the one before, up to a limit.
package struct Backoff: Sendable, Equatable {
    private let range: ClosedRange<Duration>
    private let percent: Int
    private var next: Duration

    /// - Parameters:
    ///   - range: from the first wait to the longest.
    ///   - percent: by how much each wait exceeds the one before.
    package init(_ range: ClosedRange<Duration>, growingBy percent: Int = 100) {
        (self.range, self.percent) = (range, percent)
        next = range.lowerBound
    }

    /// Records a failure. Returns how long to wait before the next attempt.
    package mutating func fail() -> Duration {
        defer { next = min(next * (100 + percent) / 100, range.upperBound) }
        return next
    }

    /// Records a success: the failures before it no longer count.
    package mutating func succeed() { next = range.lowerBound }
}
