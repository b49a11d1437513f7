/// The messages of a link as a stream of bytes: each has its length before it, as a u32 in big-endian.
package struct LinkWire {
    private static let head = 4
    /// What is behind is removed once it is that long.
    private static let slack = 1 << 16

    private var bytes: [UInt8] = []
    private var start = 0

    package init() {}

    package static func framed(_ message: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(head + message.count)
        for shift in stride(from: 24, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: message.count >> shift))
        }
        bytes += message
        return bytes
    }

    package mutating func receive(_ more: ArraySlice<UInt8>) {
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            start = 0
        } else if start >= Self.slack {
            bytes.removeFirst(start)
            start = 0
        }
        bytes += more
    }

    /// The next message; nil if it is not whole.
    ///
    /// - Parameter longest: in bytes.
    /// - Throws: `TooLong`; nothing behind it can be read.
    package mutating func next(longest: Int) throws(TooLong) -> [UInt8]? {
        guard bytes.count - start >= Self.head else { return nil }
        let count = bytes[start..<start + Self.head].reduce(0) { $0 << 8 | Int($1) }
        if count > longest { throw TooLong() }
        let end = start + Self.head + count
        guard bytes.count >= end else { return nil }
        defer { start = end }
        return Array(bytes[(start + Self.head)..<end])
    }

    package struct TooLong: Error {}
}
