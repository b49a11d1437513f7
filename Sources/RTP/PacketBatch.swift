/// Datagrams to send together, back to back in one buffer that is used again and again.
package struct PacketBatch: Equatable, Sendable {
    package private(set) var bytes: [UInt8] = []
    /// Where each datagram ends in `bytes`; it begins where the one before it ends.
    package private(set) var ends: [Int] = []

    package init() {}

    package var count: Int { ends.count }
    package var isEmpty: Bool { ends.isEmpty }

    /// One datagram's bytes.
    package subscript(index: Int) -> ArraySlice<UInt8> {
        bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]]
    }

    package mutating func append(_ datagram: [UInt8]) {
        bytes.append(contentsOf: datagram)
        ends.append(bytes.count)
    }

    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }
}
