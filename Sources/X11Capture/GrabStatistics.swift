/// What grabbing has cost so far.
package struct GrabStatistics: Sendable {
    /// Processor time of asking the server for pixels; waiting for them takes none.
    package fileprivate(set) var requestTime = Duration.zero
    /// Processor time of comparing them with those of before, and of keeping what differs.
    package fileprivate(set) var compareTime = Duration.zero
    /// Bytes of pixels that came.
    package fileprivate(set) var bytes: UInt64 = 0
}

extension GrabStatistics {
    mutating func note(request: Duration, compare: Duration, bytes count: Int) {
        requestTime += request
        compareTime += compare
        bytes += UInt64(count)
    }
}
