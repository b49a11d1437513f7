/// Elements of EBML (RFC 8794), one after the other, as they stand in a file.
package struct EBMLWriter {
    /// Bytes of an element's size if it is written before the size is known.
    package static let openSizeLength = 8
    /// The size of an element that ends where the next one of its level begins, in eight bytes (RFC 8794 §6.2).
    package static let unknownSize: [UInt8] = [0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]

    package private(set) var bytes: [UInt8]

    package init() { bytes = [] }

    // MARK: - Elements

    package mutating func unsigned(_ id: MatroskaID, _ value: UInt64) {
        begin(id, count: max(1, 8 - value.leadingZeroBitCount / 8))
        appendBigEndian(value, count: max(1, 8 - value.leadingZeroBitCount / 8))
    }

    package mutating func signed(_ id: MatroskaID, _ value: Int64) {
        begin(id, count: 8)
        appendBigEndian(UInt64(bitPattern: value), count: 8)
    }

    package mutating func float(_ id: MatroskaID, _ value: Double) {
        begin(id, count: 8)
        appendBigEndian(value.bitPattern, count: 8)
    }

    package mutating func text(_ id: MatroskaID, _ value: String) { binary(id, Array(value.utf8)) }

    package mutating func binary(_ id: MatroskaID, _ value: [UInt8]) {
        begin(id, count: value.count)
        bytes += value
    }

    /// An element that holds others.
    package mutating func master(_ id: MatroskaID, _ content: (inout EBMLWriter) -> Void) {
        var inner = EBMLWriter()
        content(&inner)
        binary(id, inner.bytes)
    }

    /// An element that holds others, whose number is not known yet. It ends where the next one of its level begins.
    package mutating func openMaster(_ id: MatroskaID) {
        append(id)
        bytes += Self.unknownSize
    }

    /// An element without a meaning.
    ///
    /// - Parameter length: bytes of the whole element, 2…128.
    package mutating func void(length: Int) {
        precondition(2...128 ~= length)
        begin(.void, count: length - 2)
        bytes += [UInt8](repeating: 0, count: length - 2)
    }

    // MARK: - Parts of elements

    /// The ID and size of an element whose content follows.
    package mutating func begin(_ id: MatroskaID, count: Int) {
        append(id)
        bytes += Self.size(count)
    }

    package mutating func append(_ more: [UInt8]) { bytes += more }

    private mutating func append(_ id: MatroskaID) {
        appendBigEndian(UInt64(id.rawValue), count: 4 - id.rawValue.leadingZeroBitCount / 8)
    }

    package mutating func appendBigEndian(_ value: UInt64, count: Int) {
        for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
    }

    /// An element's size in as few bytes as possible (RFC 8794 §6.1). All bits set would mean an unknown size.
    package static func size(_ count: Int) -> [UInt8] {
        var length = 1
        while count >= 1 << (7 * length) - 1 { length += 1 }
        return size(count, length: length)
    }

    /// An element's size in a number of bytes, 1…8.
    package static func size(_ count: Int, length: Int) -> [UInt8] {
        let value = UInt64(count) | 1 << (7 * length)
        return (0..<length).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
}
