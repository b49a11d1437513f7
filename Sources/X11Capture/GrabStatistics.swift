/// The cost of grabbing so far.
package struct GrabStatistics: Sendable {
    /// Processor time of requests for pixels. Waiting for pixels takes none.
    package internal(set) var requestTime = Duration.zero
    /// Processor time of comparing them with the present pixels, and of storing those that differ.
    package internal(set) var compareTime = Duration.zero
    /// Bytes of received pixels.
    package internal(set) var bytes: UInt64 = 0
}
