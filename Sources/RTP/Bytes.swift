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

extension Array {
    /// The index of the first element that fulfils a condition; `count` if none does. All later elements must fulfil it
    /// too.
    func partitionPoint(_ condition: (Element) -> Bool) -> Int {
        var range = 0..<count
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            range = condition(self[middle]) ? range.lowerBound..<middle : middle + 1..<range.upperBound
        }
        return range.lowerBound
    }
}

/// The reason why a datagram is no packet of RTP or RTCP, or a payload none of its codec. Nothing in it can be trusted
/// then (RFC 3550 §A.2).
package enum MalformedPacket: Error, Equatable {
    /// Its header is not that of RTP version 2.
    case version
    /// It ends before its fields do.
    case truncated
    /// A field contradicts the packet's length, or earlier packets.
    case inconsistent
}

/// Reads bytes from front to back. A read past the end throws `truncated`; none traps.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// How many bytes are left.
    var count: Int { rest.count }

    mutating func byte() throws(MalformedPacket) -> UInt8 {
        guard let byte = rest.popFirst() else { throw .truncated }
        return byte
    }

    mutating func uint16() throws(MalformedPacket) -> UInt16 {
        UInt16(try byte()) << 8 | UInt16(try byte())
    }

    mutating func uint32() throws(MalformedPacket) -> UInt32 {
        UInt32(try uint16()) << 16 | UInt32(try uint16())
    }

    mutating func uint64() throws(MalformedPacket) -> UInt64 {
        UInt64(try uint32()) << 32 | UInt64(try uint32())
    }

    mutating func skip(_ length: Int) throws(MalformedPacket) { _ = try slice(length) }

    /// A reader of the next `length` bytes alone.
    mutating func slice(_ length: Int) throws(MalformedPacket) -> ByteReader {
        guard 0...count ~= length else { throw .truncated }
        defer { rest = rest.dropFirst(length) }
        return ByteReader(rest.prefix(length))
    }

    mutating func array(_ length: Int) throws(MalformedPacket) -> [UInt8] { Array(try rest(length)) }

    /// The next `length` bytes, in the memory of those that the reader began with.
    mutating func rest(_ length: Int) throws(MalformedPacket) -> ArraySlice<UInt8> { try slice(length).rest }

    /// Removes the padding, whose length is its last byte (RFC 3550 §5.1, §6.4.1). Returns false if that length is 0.
    mutating func removePadding() throws(MalformedPacket) -> Bool {
        guard let length = rest.last, length <= count else { throw .truncated }
        rest = rest.dropLast(Int(length))
        return length > 0
    }
}
