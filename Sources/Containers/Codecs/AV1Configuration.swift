/// The facts of a stream of AV1 that containers want to know beforehand, from a keyframe. Main profile alone: 4:2:0 in 8 bits.
package struct AV1Configuration: Equatable {
    /// `av1C` (AV1 Codec ISO Media File Format Binding §2.3), which is Matroska's `CodecPrivate` too.
    package let record: [UInt8]
    /// 0 for level 2.0, 31 for none (AV1 specification, annex A.3).
    package let level: UInt8
    package let isHighTier: Bool

    /// Nil if the frame has no sequence header, or that of a stream that Oriel does not make.
    package init?(keyframe: [UInt8]) {
        guard let header = OpenBitstreamUnit.all(in: keyframe[...]).first(where: { $0.type == .sequenceHeader }),
            let (level, isHighTier) = Self.level(of: header.payload)
        else { return nil }
        (self.level, self.isHighTier) = (level, isHighTier)
        // 4:2:0, of unknown position.
        let sampling: UInt8 = 0b1100
        record = [0x81, level, (isHighTier ? 0x80 : 0) | sampling, 0] + header.sized
    }

    /// As in a `codecs` parameter (same document, §5), such as `av01.0.05M.08`.
    package var codecString: String {
        let digits = "\(level)"
        return "av01.0.\(digits.count < 2 ? "0" : "")\(digits)\(isHighTier ? "H" : "M").08"
    }

    /// The level of the first operating point (AV1 specification §5.5.1).
    private static func level(of payload: ArraySlice<UInt8>) -> (UInt8, isHighTier: Bool)? {
        var bits = Bits(payload)
        guard bits.next(3) == 0, bits.next(1) != nil, let isReduced = bits.next(1) else { return nil }
        if isReduced == 1 { return bits.next(5).map { (UInt8($0), false) } }
        // Without timing information.
        guard bits.next(1) == 0, bits.next(1) != nil, bits.next(5) != nil, bits.next(12) != nil,
            let level = bits.next(5)
        else { return nil }
        return (UInt8(level), level > 7 && bits.next(1) == 1)
    }

    private struct Bits {
        private let bytes: ArraySlice<UInt8>
        private var position = 0

        init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

        mutating func next(_ count: Int) -> UInt32? {
            guard position + count <= bytes.count * 8 else { return nil }
            defer { position += count }
            return (position..<position + count).reduce(0) { value, bit in
                let byte = bytes[bytes.startIndex + bit / 8]
                return value << 1 | UInt32(byte >> (7 - bit % 8) & 1)
            }
        }
    }
}

/// An open bitstream unit (AV1 specification §5.3).
package struct OpenBitstreamUnit {
    package enum Kind: UInt8 {
        case sequenceHeader = 1
        case temporalDelimiter = 2
    }

    private let header: UInt8
    /// Without the header and the size.
    let payload: ArraySlice<UInt8>

    /// Nil for kinds that no container cares for.
    var type: Kind? { Kind(rawValue: header >> 3 & 0xF) }

    /// With a size field.
    fileprivate var sized: [UInt8] {
        [header & ~0b100 | 0b010] + Self.leb128(payload.count) + payload
    }

    /// The units of a temporal unit. Ends at the first that is not whole.
    fileprivate static func all(in bytes: ArraySlice<UInt8>) -> [OpenBitstreamUnit] {
        var (units, rest): ([OpenBitstreamUnit], ArraySlice<UInt8>) = ([], bytes)
        while let header = rest.first {
            let hasExtension = header & 0b100 != 0
            var content = rest.dropFirst(hasExtension ? 2 : 1)
            var size = content.count
            if header & 0b010 != 0 {
                guard let (value, length) = readLEB128(content), value <= content.count - length else { break }
                content = content.dropFirst(length)
                size = value
            }
            let payload = content.prefix(size)
            units.append(OpenBitstreamUnit(header: header, payload: payload))
            rest = rest[payload.endIndex...]
        }
        return units
    }

    /// A frame without its temporal delimiter, which containers leave out (Matroska's AV1 mapping; binding for ISO files §2.4).
    package static func withoutDelimiter(_ frame: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        // It has no payload: a header with a size, and the size.
        frame.starts(with: [0x12, 0x00]) ? frame.dropFirst(2) : frame
    }

    private static func readLEB128(_ bytes: ArraySlice<UInt8>) -> (value: Int, length: Int)? {
        var value = 0
        for (index, byte) in bytes.prefix(5).enumerated() {
            value |= Int(byte & 0x7F) << (7 * index)
            if byte & 0x80 == 0 { return (value, index + 1) }
        }
        return nil
    }

    private static func leb128(_ value: Int) -> [UInt8] {
        var (bytes, rest): ([UInt8], Int) = ([], value)
        repeat {
            bytes.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return bytes
    }
}
