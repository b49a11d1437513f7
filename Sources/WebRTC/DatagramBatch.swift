/// Datagrams that leave together, written and protected where they lie. The memory is used again and again, by all sessions of
/// a thread.
///
/// Invariant: datagram i lies at `starts[i]..<ends[i]` of `bytes`; each start is a multiple of 4, as libsrtp asks.
package struct DatagramBatch {
    /// Datagrams at the most: what a pacer lets go at once, and more than that.
    package static let limit = 32
    private static let alignment = 4
    private static let trailer = [UInt8](repeating: 0, count: SRTPSession.trailerSize)

    package private(set) var bytes: [UInt8] = []
    package private(set) var starts: [Int] = []
    package private(set) var ends: [Int] = []

    package init() {}

    package var count: Int { ends.count }
    package var isEmpty: Bool { ends.isEmpty }
    var isFull: Bool { count >= Self.limit }

    package subscript(index: Int) -> ArraySlice<UInt8> { bytes[starts[index]..<ends[index]] }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    mutating func append(_ datagram: some Collection<UInt8>) {
        append { bytes in
            bytes.append(contentsOf: datagram)
            return true
        }
    }

    /// Appends what `write` puts at the end of the bytes, protected.
    ///
    /// - Parameters:
    ///   - write: returns false if there is nothing.
    ///   - protect: protects a packet of so many bytes in place, with room for `SRTPSession.trailerSize` more; returns its new
    ///     size, or nil if it cannot. The packet is left out then.
    /// - Returns: what `write` did.
    @discardableResult
    mutating func append(
        _ write: (inout [UInt8]) -> Bool,
        protect: ((UnsafeMutableRawBufferPointer, Int) -> Int?)? = nil
    ) -> Bool {
        while bytes.count % Self.alignment != 0 { bytes.append(0) }
        let start = bytes.count
        guard write(&bytes) else { return false }
        if let protect {
            let count = bytes.count - start
            bytes.append(contentsOf: Self.trailer)
            let size = bytes.withUnsafeMutableBytes { buffer in
                protect(UnsafeMutableRawBufferPointer(rebasing: buffer[start...]), count)
            }
            bytes.removeLast(bytes.count - start - (size ?? 0))
            if size == nil { return true }
        }
        starts.append(start)
        ends.append(bytes.count)
        return true
    }
}
