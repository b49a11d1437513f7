/// What grabbing has cost so far.
package struct GrabStatistics: Sendable {
    /// Processor time of asking the server for pixels, in nanoseconds; waiting for them takes none.
    package fileprivate(set) var requestTime: UInt64 = 0
    /// Processor time of comparing them with those of before, and of keeping what differs.
    package fileprivate(set) var compareTime: UInt64 = 0
    /// Bytes of pixels that came.
    package fileprivate(set) var bytes: UInt64 = 0
}

extension GrabStatistics {
    mutating func note(request: UInt64, compare: UInt64, bytes count: Int) {
        requestTime += request
        compareTime += compare
        bytes += UInt64(count)
    }
}
