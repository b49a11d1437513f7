/// The beginning of an element of EBML (RFC 8794 §5 and §6): its ID and its size.
package struct EBMLElement: Equatable {
    /// With the marker bit; 1…4 bytes.
    package let id: UInt32
    /// Bytes of the content; nil if the element ends where the next one of its level begins.
    package let size: UInt64?
    /// Bytes of the ID and the size.
    package let headLength: Int

    /// Bytes that are enough for any beginning.
    package static let longestHead = 12

    /// Nil if the bytes begin with no element, or with a part of one.
    package init?(_ bytes: ArraySlice<UInt8>) {
        guard let first = bytes.first, first >= 0x10 else { return nil }
        let idLength = first.leadingZeroBitCount + 1
        let rest = bytes.dropFirst(idLength)
        guard let second = rest.first, second > 0 else { return nil }
        let sizeLength = second.leadingZeroBitCount + 1
        guard rest.count >= sizeLength else { return nil }
        id = UInt32(truncatingIfNeeded: Self.bigEndian(bytes.prefix(idLength)))
        let mask = (1 as UInt64) << (7 * sizeLength) - 1
        let size = Self.bigEndian(rest.prefix(sizeLength)) & mask
        self.size = size == mask ? nil : size
        headLength = idLength + sizeLength
    }

    package static func bigEndian(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    package func `is`(_ id: MatroskaID) -> Bool { self.id == id.rawValue }
}
