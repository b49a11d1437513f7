/// Datagrams that leave together, written and protected in place. The memory is reused.
///
/// Invariant: datagram i lies at `starts[i]..<ends[i]` of `bytes`; each start is a multiple of 4, as libsrtp asks.
package struct DatagramBatch: Sendable {
    /// Datagrams in one system call; the usual burst of a pacer, 20 packets, fits.
    package static let limit = 32
    private static let alignment = 4

    package private(set) var bytes: [UInt8] = []
    package private(set) var starts: [Int] = []
    package private(set) var ends: [Int] = []

    package init() {}

    package var count: Int { ends.count }
    package var isEmpty: Bool { ends.isEmpty }
    package var isFull: Bool { count >= Self.limit }

    package subscript(index: Int) -> ArraySlice<UInt8> { bytes[starts[index]..<ends[index]] }

    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    package mutating func append(_ datagram: some Collection<UInt8>) {
        align()
        starts.append(bytes.count)
        bytes.append(contentsOf: datagram)
        ends.append(bytes.count)
    }

    /// Appends the datagram that `write` appends to the bytes; none if `write` leaves the bytes as they were.
    ///
    /// - Parameter write: returns false if there is nothing to write.
    /// - Returns: what `write` returned.
    @discardableResult
    package mutating func append(_ write: (inout [UInt8]) -> Bool) -> Bool {
        align()
        let start = bytes.count
        guard write(&bytes) else { return false }
        if bytes.count > start {
            starts.append(start)
            ends.append(bytes.count)
        }
        return true
    }

    private mutating func align() { while bytes.count % Self.alignment != 0 { bytes.append(0) } }
}
