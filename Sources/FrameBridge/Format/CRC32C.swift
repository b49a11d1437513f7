/// CRC-32C (Castagnoli, RFC 3720 §B.4) over a few dozen bytes of metadata.
enum CRC32C {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1 }
    }

    static func checksum(_ bytes: RawSpan) -> UInt32 {
        var sum = ~UInt32(0)
        for index in bytes.byteOffsets {
            let byte = bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
            sum = sum >> 8 ^ table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)]
        }
        return ~sum
    }
}
