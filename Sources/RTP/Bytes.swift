extension [UInt8] {
    /// Appends an integer in network byte order.
    mutating func append(bigEndian value: some FixedWidthInteger & UnsignedInteger) {
        var shift = value.bitWidth
        while shift > 0 {
            shift -= 8
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    mutating func append(contentsOf bytes: Span<UInt8>) {
        append(addingCapacity: bytes.count) { for index in bytes.indices { $0.append(bytes[index]) } }
    }
}

/// Reads bytes from front to back. A read past the end throws; none traps.
struct ByteReader {
    struct PastEnd: Error {}

    private let bytes: [UInt8]
    private var position: Int
    private let end: Int

    init(_ bytes: [UInt8]) {
        self.init(bytes, 0..<bytes.count)
    }

    private init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    /// How many bytes are left.
    var count: Int { end - position }

    mutating func byte() throws(PastEnd) -> UInt8 {
        guard count >= 1 else { throw PastEnd() }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func uint16() throws(PastEnd) -> UInt16 {
        UInt16(try byte()) << 8 | UInt16(try byte())
    }

    mutating func uint32() throws(PastEnd) -> UInt32 {
        UInt32(try uint16()) << 16 | UInt32(try uint16())
    }

    mutating func uint64() throws(PastEnd) -> UInt64 {
        UInt64(try uint32()) << 32 | UInt64(try uint32())
    }

    mutating func skip(_ length: Int) throws(PastEnd) {
        guard length >= 0, count >= length else { throw PastEnd() }
        position += length
    }

    /// A reader of the next `length` bytes alone.
    mutating func slice(_ length: Int) throws(PastEnd) -> ByteReader {
        let start = position
        try skip(length)
        return ByteReader(bytes, start..<position)
    }

    mutating func array(_ length: Int) throws(PastEnd) -> [UInt8] {
        let start = position
        try skip(length)
        return Array(bytes[start..<position])
    }

    /// The last byte, without taking it.
    func last() throws(PastEnd) -> UInt8 {
        guard count >= 1 else { throw PastEnd() }
        return bytes[end - 1]
    }

    mutating func dropLast(_ length: Int) throws(PastEnd) {
        guard length >= 0, count >= length else { throw PastEnd() }
        self = ByteReader(bytes, position..<end - length)
    }
}
