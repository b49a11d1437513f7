/// Datagrams to send together, back to back in one buffer that is used again and again.
package struct PacketBatch: Equatable, Sendable {
    package private(set) var bytes: [UInt8] = []
    /// Where each datagram lies in `bytes`.
    package private(set) var ranges: [Range<Int>] = []

    package init() {}

    package var count: Int { ranges.count }
    package var isEmpty: Bool { ranges.isEmpty }

    /// One datagram's bytes.
    package subscript(index: Int) -> ArraySlice<UInt8> { bytes[ranges[index]] }

    package mutating func append(_ datagram: [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: datagram)
        ranges.append(start..<bytes.count)
    }

    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ranges.removeAll(keepingCapacity: true)
    }
}
