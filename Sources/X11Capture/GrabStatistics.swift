/// The cost of grabbing so far.
package struct GrabStatistics: Sendable {
    /// Processor time of asking the server for pixels; waiting for them takes none.
    package internal(set) var requestTime = Duration.zero
    /// Processor time of comparing them with the present pixels, and of keeping those that differ.
    package internal(set) var compareTime = Duration.zero
    /// Bytes of pixels that came.
    package internal(set) var bytes: UInt64 = 0
}
