/// CRC-32C (Castagnoli, RFC 3720 §B.4) over a few dozen bytes of metadata, eight bytes at a time (M. Kounavis and F. Berry, "A
/// systematic approach to building high performance software-based CRC generators", ISCC 2005).
enum CRC32C {
    /// The checksum's share of a byte with `row` bytes after it: `tables[row * 256 + byte]`.
    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            tables[byte] = (0..<8).reduce(UInt32(byte)) { value, _ in
                value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1
            }
        }
        for index in 256..<tables.count {
            let value = tables[index - 256]
            tables[index] = value >> 8 ^ tables[Int(value & 0xFF)]
        }
        return tables
    }()

    static func checksum(_ bytes: RawSpan) -> UInt32 {
        tables.withUnsafeBufferPointer { tables in
            var sum = ~UInt32(0)
            var offset = 0
            while offset + 8 <= bytes.byteCount {
                let word = bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ UInt64(sum)
                sum = 0
                for place in 0..<8 {
                    sum ^= tables[(7 - place) * 256 + Int(UInt8(truncatingIfNeeded: word >> UInt64(place * 8)))]
                }
                offset += 8
            }
            while offset < bytes.byteCount {
                let byte = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
                sum = sum >> 8 ^ tables[Int(UInt8(truncatingIfNeeded: sum) ^ byte)]
                offset += 1
            }
            return ~sum
        }
    }
}
